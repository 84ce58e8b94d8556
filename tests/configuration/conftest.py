from __future__ import annotations

from tests.wiring.conftest import repository

__all__ = ["repository"]
