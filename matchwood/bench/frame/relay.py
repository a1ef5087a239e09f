"""Count what travels to a server and back: a relay on this machine that clients are pointed at in its place."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from typing import NamedTuple
from urllib.parse import urlsplit

_REQUEST = re.compile(rb"(?:GET|PUT|POST|HEAD|DELETE) \S+ HTTP/1\.1\r\n")
_CHUNK = 65_536


class Travelled(NamedTuple):
    """Requests, and the bytes that went to the server and came back, headers included."""

    requests: int
    sent: int
    received: int

    def since(self, earlier: Travelled) -> Travelled:
        return Travelled(*(now - then for now, then in zip(self, earlier, strict=True)))


class Relay:
    """Passes bytes on as they are, so that signed requests stay valid; as a context, it is closed for sure."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        self._target = (str(parts.hostname), parts.port or 80)
        self._requests = self._sent = self._received = 0
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def travelled(self) -> Travelled:
        with self._lock:
            return Travelled(self._requests, self._sent, self._received)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._target)
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):  # one side hung up
            while data := source.recv(_CHUNK):
                self._count(data, is_request)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _count(self, data: bytes, is_request: bool) -> None:
        """A client waits for an answer before its next request, so a request's first line begins what is received."""
        with self._lock:
            if is_request:
                self._sent += len(data)
                self._requests += bool(_REQUEST.match(data))
            else:
                self._received += len(data)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *error: object) -> None:
        self._listening.close()
