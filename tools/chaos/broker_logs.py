"""Checks the brokers' logs after a run: tracebacks and errors are violations, except those that a fault explains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from pathlib import Path

from signalbox.common.ids import TopicPartition
from tools.chaos.destroyed_topics import TOPIC_PREFIX, LoggedLoss
from tools.chaos.plan import Kind

_LINE = re.compile(r"^\S+Z (?P<level>[A-Z]+) +node=\S+ (?P<logger>\S+): (?P<text>.*)$")
_BAD = ("ERROR", "CRITICAL")
_TRUNCATED_BY_RECOVERY = re.compile(r" is corrupt: truncated to offset [0-9]+ by recovery ")
_OLDER_STORE = re.compile(r"not started: .* is an older copy .*signalbox store accept-older")
_LOST = re.compile(
    r"^Partition (?P<topic>\S+)-(?P<partition>[0-9]+) has [^:]*: "
    r"records from offset (?P<first>[0-9]+) (?:to (?P<last>[0-9]+)|on) are lost\b"
)
_LOST_WITH_ALL_COPIES = re.compile(rf"^Partition {TOPIC_PREFIX}\S+ has lost acknowledged records ")
_CALLED_FOR = {
    Kind.FLIPPED.value: _TRUNCATED_BY_RECOVERY,
    Kind.ALL_FLIPPED.value: _TRUNCATED_BY_RECOVERY,
    Kind.STORE_RESTORED.value: _OLDER_STORE,
    Kind.COPIES_DESTROYED.value: _LOST_WITH_ALL_COPIES,
}
"""By kind of fault: the errors that brokers must log because of it."""


def troubles(log_file: Path, faults: Set[str] = frozenset()) -> list[str]:
    """Every error line that no kind of fault of the run explains, and every traceback (as its last line)."""
    called_for = [_CALLED_FOR[kind] for kind in sorted(faults & _CALLED_FOR.keys())]
    found: list[str] = []
    inside = False
    for line in log_file.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match is not None:
            inside = False
            if match["level"] in _BAD and not any(each.search(match["text"]) for each in called_for):
                found.append(line)
        elif line.startswith("Traceback "):
            inside = True
        elif inside and not line.startswith(" "):
            found.append(f"traceback: {line}")
            inside = False
    return found


def logged_losses(log_file: Path) -> list[LoggedLoss]:
    """Losses that new leaders logged as warnings or errors: topic, partition and offsets."""
    losses: list[LoggedLoss] = []
    for line in log_file.read_text(errors="replace").splitlines():
        entry = _LINE.match(line)
        loss = None if entry is None or entry["level"] not in ("WARNING", *_BAD) else _LOST.match(entry["text"])
        if loss is not None:
            partition = TopicPartition(loss["topic"], int(loss["partition"]))
            losses.append(LoggedLoss(partition, int(loss["first"]), int(loss["last"]) if loss["last"] else None))
    return losses


def noisiest(log_file: Path, most: int = 5) -> list[tuple[str, int]]:
    """The loggers and messages (without their numbers) with the most lines."""
    counts: Counter[str] = Counter()
    for line in log_file.read_text(errors="replace").splitlines():
        if (match := _LINE.match(line)) is not None:
            counts[f"{match['logger']}: {re.sub(r'[0-9]+', '#', match['text'])[:90]}"] += 1
    return counts.most_common(most)
