"""Which skips CI accepts (`allowed-skips.toml`): every other skipped test is a failure, so that nothing stops being
tested without anybody deciding it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ALLOWED_SKIPS = Path(__file__).parent / "allowed-skips.toml"


@dataclass(frozen=True, slots=True)
class AllowedSkip:
    """`test` is a file or the beginning of a node id, `reason` must be in the text that the skip gives."""

    test: str
    reason: str

    def covers(self, node_id: str, reason: str) -> bool:
        return node_id.startswith(self.test) and self.reason in reason


def read_allowed_skips(path: Path = ALLOWED_SKIPS) -> list[AllowedSkip]:
    """The rows; each must say why it is there."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("skip", [])
    nameless = [row for row in rows if not row.get("why")]
    if nameless:
        raise ValueError(f"{path}: rows without a why: {nameless}")
    return [AllowedSkip(row["test"], row["reason"]) for row in rows]


def unexpected_skips(skipped: list[tuple[str, str]], allowed: list[AllowedSkip]) -> list[tuple[str, str]]:
    """Of (node id, reason) those that no row covers."""
    return [(node, reason) for node, reason in skipped if not any(row.covers(node, reason) for row in allowed)]
