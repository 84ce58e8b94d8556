from __future__ import annotations

from tests.wiring.conftest import cluster, repository

__all__ = ["cluster", "repository"]
