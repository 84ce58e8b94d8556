"""The skips that CI accepts (`allowed-skips.toml`): every other skipped test is a failure, so that no test is disabled
without a decision."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ALLOWED_SKIPS = Path(__file__).parent / "allowed-skips.toml"


@dataclass(frozen=True, slots=True)
class AllowedSkip:
    """`test` is a file or the beginning of a node id, `reason` must be contained in the reason of the skip."""

    test: str
    reason: str

    def covers(self, node_id: str, reason: str) -> bool:
        return node_id.startswith(self.test) and self.reason in reason


def read_allowed_skips(path: Path = ALLOWED_SKIPS) -> list[AllowedSkip]:
    """The rows; each must have a reason."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("skip", [])
    nameless = [row for row in rows if not row.get("why")]
    if nameless:
        raise ValueError(f"{path}: rows without a why: {nameless}")
    return [AllowedSkip(row["test"], row["reason"]) for row in rows]


def unexpected_skips(skipped: list[tuple[str, str]], allowed: list[AllowedSkip]) -> list[tuple[str, str]]:
    """The (node id, reason) pairs that no row covers."""
    return [(node, reason) for node, reason in skipped if not any(row.covers(node, reason) for row in allowed)]
