"""What the brokers' own logs tell of a run: tracebacks and errors are violations, the rest is counted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

_LINE = re.compile(r"^\S+Z (?P<level>[A-Z]+) +node=\S+ (?P<logger>\S+): (?P<text>.*)$")
_BAD = ("ERROR", "CRITICAL")


def troubles(log_file: Path) -> list[str]:
    """Every error line and every traceback (as its last line)."""
    found: list[str] = []
    inside = False
    for line in log_file.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match is not None:
            inside = False
            if match["level"] in _BAD:
                found.append(line)
        elif line.startswith("Traceback "):
            inside = True
        elif inside and not line.startswith(" "):
            found.append(f"traceback: {line}")
            inside = False
    return found


def noisiest(log_file: Path, most: int = 5) -> list[tuple[str, int]]:
    """The loggers and messages (numbers left out) that wrote most lines."""
    counts: Counter[str] = Counter()
    for line in log_file.read_text(errors="replace").splitlines():
        if (match := _LINE.match(line)) is not None:
            counts[f"{match['logger']}: {re.sub(r'[0-9]+', '#', match['text'])[:90]}"] += 1
    return counts.most_common(most)
