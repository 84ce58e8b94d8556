"""The location of the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.cache import cache_directory


def test_cache_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "signalbox"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "signalbox"
