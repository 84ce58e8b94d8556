"""Reads `walks.toml`: what each walk follows, what it leaves, which files are not counted."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

_TABLE = tomllib.loads((Path(__file__).parent / "walks.toml").read_text())


@dataclass(frozen=True, slots=True)
class Walk:
    """`follows` and `leaves` are functions with the reason; see `recording.py`."""

    name: str
    heading: str
    follows: Mapping[str, str]
    leaves: Mapping[str, str]


WALKS = [
    Walk(name, row["heading"], row["follows"], _TABLE["leaves"] | row.get("leaves", {}))
    for name, row in _TABLE["walks"].items()
]
NOT_COUNTED: Mapping[str, str] = _TABLE["not_counted"]  # pattern of files: reason


def is_counted(file: str) -> bool:
    """Whether the file belongs on the page."""
    return not any(fnmatch(file, pattern) for pattern in NOT_COUNTED)
