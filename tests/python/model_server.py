"""A scripted model server on the loopback interface: one script of answers, every wire format, and every way to misbehave.

An answer is a text (what the model says), something that reads the prompt and says a text (`reply_to`), or a callable that
gets the connection and does as it likes with it.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, Protocol


class Reader(Protocol):
    """A model that reads what it is asked."""

    def reply_to(self, prompt: str) -> str: ...


Answer = str | Reader | Callable[[socket.socket], None]


class ModelServer:
    """Answers requests in the order of its script; the last answer repeats."""

    def __init__(self, *answers: Answer, usage: bool = True, tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers)
        self.usage = usage
        self.tls = tls
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not end an `accept` that waits in another thread.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            one.close()

    @property
    def prompts(self) -> list[str]:
        """The user messages, in order."""
        return [request["user"] for request in self.requests]

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            if self.tls is not None:
                peer = self.tls.wrap_socket(peer, server_side=True)
            while True:
                request = _read(peer)
                if request is None:
                    break
                with self._lock:
                    self.requests.append(request)
                    answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
                if hasattr(answer, "reply_to"):
                    answer = answer.reply_to(request["user"])
                if isinstance(answer, str):
                    peer.sendall(http(200, wire(request["path"], answer, self.usage)))
                else:
                    answer(peer)
                    break
        except OSError:
            pass
        finally:
            peer.close()


def _read(peer: socket.socket) -> dict[str, Any] | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = peer.recv(65536)
        if not chunk:
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    while len(body) < int(headers.get("content-length", "0")):
        body += peer.recv(65536)
    message = json.loads(body)
    texts = [part["content"] for part in message.get("messages", []) if part["role"] == "user"]
    return {"path": lines[0].split(" ")[1], "headers": headers, "body": message, "user": (texts or [""])[-1]}


def http(status: int, body: bytes | str, headers: dict[str, str] | None = None) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(data)}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


def wire(path: str, text: str, usage: bool = True, *, cut: bool = False) -> str:
    """A model's text in the form that the path asks for."""
    if path.startswith("/v1/messages"):
        answer: dict[str, Any] = {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "max_tokens" if cut else "end_turn",
        }
        counts: dict[str, Any] = {"usage": {"input_tokens": 2000, "output_tokens": 300}}
    elif path.startswith("/api/chat"):
        answer = {"message": {"content": text}, "done_reason": "length" if cut else "stop", "done": True}
        counts = {"prompt_eval_count": 2000, "eval_count": 300}
    else:
        answer = {"choices": [{"message": {"content": text}, "finish_reason": "length" if cut else "stop"}]}
        counts = {"usage": {"prompt_tokens": 2000, "completion_tokens": 300}}
    return json.dumps({**answer, **(counts if usage else {})})


def reply(candidate: str | None, **changes: Any) -> str:
    """A reply of the right form."""
    fields = {
        "summary": "the data has other names now",
        "confidence": 0.8,
        "probable_cause": "the header was renamed",
        "evidence_used": ["e1", "e2"],
        "alternatives": [],
        "missing_information": [],
        "candidate": candidate,
        "rationale": "old and new names are both read",
        "expected_outcome": "the call returns",
    }
    return json.dumps({**fields, **changes})


def status(code: int, body: str = "{}", **headers: str) -> Callable[[socket.socket], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda peer: peer.sendall(http(code, body, named))


def silent(peer: socket.socket) -> None:
    """Says nothing until the other side goes away."""
    while peer.recv(65536):
        pass


def dripping(peer: socket.socket) -> None:
    """Sends one byte every tenth of a second, for ever."""
    peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while True:
        peer.sendall(b" ")
        time.sleep(0.1)


def dripping_head(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        peer.sendall(b"x")
        time.sleep(0.1)


def garbage(peer: socket.socket) -> None:
    peer.sendall(bytes(range(256)) * 64)


def truncated(peer: socket.socket) -> None:
    peer.sendall(http(200, wire("/", reply("def f(): pass")))[:-40])


def reset(peer: socket.socket) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def huge(peer: socket.socket) -> None:
    """A gigabyte, without a length."""
    peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    block = b" " * (1 << 20)
    for _ in range(1024):
        peer.sendall(block)


def bomb(peer: socket.socket) -> None:
    """A compressed gigabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b" " * (1 << 20)
    body = b"".join(packer.compress(block) for _ in range(64)) + packer.flush()
    peer.sendall(http(200, body, {"content-encoding": "gzip"}))


def html(peer: socket.socket) -> None:
    peer.sendall(http(200, "<html><body>Please log in</body></html>"))


def redirect(peer: socket.socket) -> None:
    peer.sendall(http(302, "", {"location": "http://169.254.169.254/latest/meta-data"}))
