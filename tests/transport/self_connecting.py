"""Sockets whose own port is the port that they connect to: the kernel does this once in many thousand times."""

from __future__ import annotations

import socket
from typing import Any

import pytest


def dial_themselves(monkeypatch: pytest.MonkeyPatch) -> int:
    """From here on new IPv4 sockets bind the returned port, on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])

    class SelfConnecting(socket.socket):
        def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
            super().__init__(family, type, proto, fileno)
            if fileno is None and self.family == socket.AF_INET:
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self.bind(("127.0.0.1", port))

    patched: Any = SelfConnecting
    monkeypatch.setattr(socket, "socket", patched)
    return port


def can_be_bound(port: int) -> bool:
    """True if a broker could bind the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", port))
        return True
