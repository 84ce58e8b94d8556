"""Host names whose addresses change while a client runs: the name servers of the machine are not ours to change."""

from __future__ import annotations

import socket
from typing import Any

import pytest


def set_addresses(monkeypatch: pytest.MonkeyPatch, name: str, *ips: str) -> None:
    """From now on the operating system's lookup of `name` has these addresses; a later call replaces them."""
    look_up = socket.getaddrinfo

    def changed(host: Any, *rest: Any, **options: Any) -> Any:
        if host != name:
            return look_up(host, *rest, **options)
        return [row for ip in ips for row in look_up(ip, *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", changed)
