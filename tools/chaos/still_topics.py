"""A period in which no topic is created, changed or deleted, and no deletion is in progress."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from signalbox.metadata import layout
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.changes.topic import Topics
from tools.chaos.faults.injector import Act, ClusterUnhealthy
from tools.chaos.state_reader import StateReader

_POLL_INTERVAL_S = 0.05
_TIMEOUT_S = 45.0


class StillTopics:
    """Holds those of `changers` that change topics."""

    def __init__(self, changers: Sequence[SteadyChanger], state: StateReader) -> None:
        self._changers = [each for each in changers if each.kind.name == Topics.name]
        self._others = [each for each in changers if each.kind.name != Topics.name]
        self._state = state

    @property
    def others(self) -> list[SteadyChanger]:
        """The changers that are not held."""
        return self._others

    def during(self, act: Act) -> Act:
        """The same fault, within such a period."""

        def stilled(broker_id: int, hold_s: float) -> bool:
            with self.held():
                return act(broker_id, hold_s)

        return stilled

    @contextmanager
    def held(self) -> Iterator[None]:
        """ClusterUnhealthy if the last deletion does not complete."""
        with ExitStack() as stack:
            for changer in self._changers:
                stack.enter_context(changer.held)
            deadline = time.monotonic() + _TIMEOUT_S
            while names := self._state.names(layout.DELETE_TOPICS):
                if time.monotonic() > deadline:
                    raise ClusterUnhealthy(f"still being deleted: {', '.join(names)}")
                time.sleep(_POLL_INTERVAL_S)
            yield
