"""Fixtures for anybody's test suite: installing signalbox is enough, pytest finds them by its entry point."""

from __future__ import annotations
