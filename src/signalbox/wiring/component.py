"""The components of a node as a list: what starts first stops last.

A start that fails stops what was started before it. A stop that fails is logged; the components below it are stopped
all the same, and the first error is raised at the end.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from inspect import isawaitable

log = logging.getLogger(__name__)

Action = Callable[[], object]
"""A function, or one that returns an awaitable; its result is not used."""


def _nothing() -> None:
    """A component without a start, or without a stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One entry of the list. A check of a start has only `start`; what must stop earlier or later than the order of the
    starts says has an entry with only `stop`. A controlled stop of the node calls `controlled_stop` where there is
    one."""

    name: str
    start: Action = _nothing
    stop: Action = _nothing
    controlled_stop: Action | None = None


class RunningComponents:
    """The components that have been started, in that order."""

    def __init__(self) -> None:
        self._running: list[Component] = []

    async def start(self, components: Iterable[Component]) -> None:
        """Start one after the other. A component whose own start fails is not stopped: it cleans up by itself."""
        for component in components:
            await _call(component.start)
            self._running.append(component)

    @asynccontextmanager
    async def stopped_on_failure(self) -> AsyncIterator[None]:
        """A failure inside the block, a cancellation too, stops what runs."""
        try:
            yield
        except BaseException:
            await self._stop_all(controlled=False)
            raise

    async def stop(self, controlled: bool) -> None:
        """Stop in the reverse order of the start; a second call does nothing. The first error of a component."""
        errors = await self._stop_all(controlled)
        if errors:
            raise errors[0]

    async def _stop_all(self, controlled: bool) -> list[Exception]:
        errors = []
        while self._running:
            component = self._running.pop()
            stop = component.stop
            if controlled and component.controlled_stop is not None:
                stop = component.controlled_stop
            try:
                await _call(stop)
            except Exception as error:
                log.exception("Component failed to stop (name=%s); the other components are stopped", component.name)
                errors.append(error)
        return errors


async def _call(action: Action) -> None:
    result = action()
    if isawaitable(result):
        await result
