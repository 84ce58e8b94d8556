"""What the controller orders is carried out one order after the other, however long one takes.

A LeaderAndIsr for a hundred new partitions makes hundreds of files: it is long work (`common/long_work.py`), and others
are served between its slices. Another order that comes meanwhile, from a new controller, waits until it is over (Kafka
holds `replicaStateChangeLock` as long).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from signalbox.broker.ports import LongLane
from signalbox.replication.pending import Pending

log = logging.getLogger(__name__)


class ControlTurns:
    """One in a broker."""

    def __init__(self, lane: LongLane) -> None:
        self._lane = lane
        self._waiting: deque[tuple[Callable[[], Any], Pending[Any]]] = deque()
        self._under_way = False

    def take(self, work: Callable[[], Any]) -> Pending[Any]:
        """What `work`, which may breathe and must not raise, comes to: there already when it is short and nobody is
        before it."""
        pending: Pending[Any] = Pending()
        self._waiting.append((work, pending))
        if not self._under_way:
            self._under_way = True
            self._lane.run(self._run)
        return pending

    def _run(self) -> None:
        while self._waiting:
            work, pending = self._waiting.popleft()
            try:
                pending.complete(work())
            except Exception:
                log.exception("an order of the controller is not answered")
        self._under_way = False
