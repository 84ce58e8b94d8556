"""Which files and folders a piece of code flushes to the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def note_synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is synchronized from now on, in order: a loss of power itself cannot be had in a test."""
    names: list[str] = []

    def fsync(descriptor: int) -> None:
        names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name.removesuffix(f".{os.getpid()}"))

    monkeypatch.setattr(os, "fsync", fsync)
    return names
