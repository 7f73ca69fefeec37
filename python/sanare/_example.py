"""Examples that must keep working: what a call returns, or which exception it must go on raising (C50)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_NOT_GIVEN: Any = object()


class Example:
    """One call with its expected result (`returns=`) or exception class (`raises=`)."""

    __slots__ = ("args", "kwargs", "raises", "returns")

    def __init__(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        returns: Any = _NOT_GIVEN,
        raises: type[BaseException] | None = None,
    ) -> None:
        from sanare._errors import SettingsError

        if isinstance(args, (str, bytes)):
            raise SettingsError("Example takes a sequence of arguments\nhint: write Example([value], returns=…)")
        if (returns is _NOT_GIVEN) == (raises is None):
            raise SettingsError("Example takes exactly one of `returns` and `raises`")
        if raises is not None and not (isinstance(raises, type) and issubclass(raises, BaseException)):
            raise SettingsError("Example: `raises` takes an exception class")
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.returns = returns
        self.raises = raises

    def __repr__(self) -> str:
        wanted = f"raises={self.raises.__name__}" if self.raises is not None else "returns=…"
        return f"Example({len(self.args)} arguments, {wanted})"
