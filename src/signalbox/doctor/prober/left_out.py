"""Checks that were not made, or not for everything: the reason, and whether it leaves a doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from signalbox.doctor.observations import ClusterView


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`unknown`: without this check the doctor cannot tell whether all is right. Not so where the peer has nothing to
    compare, as an older Kafka without the request."""

    reason: str
    unknown: bool = True


def with_left_out(view: ClusterView, rows: Iterable[LeftOut]) -> ClusterView:
    """The view with these reasons after those that it has, each once."""
    rows = tuple(rows)
    skipped = dict.fromkeys((*view.skipped, *(row.reason for row in rows)))
    unknown = dict.fromkeys((*view.unknown, *(row.reason for row in rows if row.unknown)))
    return replace(view, skipped=tuple(skipped), unknown=tuple(unknown))
