"""Whether this process holds a context on a graphics processor: a fork of it cannot use that (C89)."""

from __future__ import annotations

import sys

# Modules that know whether they began one; their answer begins none.
_ASKED = ("torch.cuda", "torch.xpu")
_DRIVER = "libcuda.so.1"


def holds_context() -> bool:
    """Nothing is imported from a framework, loaded or begun by asking. What gives no answer counts as a context."""
    try:
        return any(map(_is_begun, _ASKED)) or _driver_has_one()
    except Exception:
        return True


def _is_begun(name: str) -> bool:
    module = sys.modules.get(name)
    asked = getattr(module, "__dict__", {}).get("is_initialized")
    return asked is not None and bool(asked())


def _driver_has_one() -> bool:
    """What the driver says, which any framework uses (CUDA driver API: context and primary context management)."""
    import os

    try:
        with open("/proc/self/maps", "rb") as file:
            if b"/libcuda.so" not in file.read():
                return False
    except OSError:
        return False
    import ctypes

    try:
        driver = ctypes.CDLL(_DRIVER, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    count, current = ctypes.c_int(), ctypes.c_void_p()
    # Before the driver is begun each of these gives an error and does nothing.
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False
    if driver.cuCtxGetCurrent(ctypes.byref(current)) == 0 and current.value:
        return True
    for device in range(count.value):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        state = driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
        if state == 0 and active.value:
            return True
    return False
