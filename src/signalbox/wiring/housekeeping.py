"""What a running node does on its own from time to time: retention, checkpoints, audit roll-ups, writing the trail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

from signalbox.broker.audit_rollups import ROLLUP_WINDOW_S
from signalbox.common.long_work import breathe
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.parts import NodeParts

log = logging.getLogger(__name__)


class Housekeeping:
    """The node's own tasks; a chore that fails is logged and tried again at its next time."""

    def __init__(self, parts: NodeParts, config: NodeConfig) -> None:
        self._parts = parts
        self._config = config
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin. Needs the broker epoch: the audit trail is written under it."""
        parts, config = self._parts, self._config
        logs = parts.data.logs
        for every_ms, chore in (
            (config["log.retention.check.interval.ms"], logs.retention_slices),
            (config["log.flush.offset.checkpoint.interval.ms"], logs.checkpoint),
            (config["log.flush.scheduler.interval.ms"], logs.flush_due),
            (config["producer.id.expiration.check.interval.ms"], self._expire_producers),
            (int(ROLLUP_WINDOW_S * 1000), parts.trail.rollups.flush),
        ):
            repeated = repeat(every_ms / 1000, chore, parts.lane.run)
            self._tasks.append(asyncio.get_running_loop().create_task(repeated))
        if config["audit.enable"]:
            self._tasks.append(
                asyncio.get_running_loop().create_task(
                    parts.trail.audit.write(parts.epochs.broker_epoch, parts.audit_delivery)
                )
            )

    def _expire_producers(self) -> None:
        # Read at every round: it can change while the broker runs.
        expiration_ms = self._parts.around.dynamic.values["producer.id.expiration.ms"]
        assert isinstance(expiration_ms, int)
        self._parts.data.logs.expire_producers(expiration_ms)

    async def stop(self, drain_s: float) -> None:
        """End the chores; the audit trail gets `drain_s` seconds to be written to its end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if drain_s and self._config["audit.enable"]:
            self._parts.trail.rollups.flush()
            await self._parts.trail.audit.drain(self._parts.audit_delivery, drain_s)
        await self._parts.trail.audit.close()
        await self._parts.audit_delivery.close()


async def repeat(every_s: float, chore: Callable[[], object], run: Callable[[Callable[[], None]], None]) -> None:
    """Do a chore now and then, as long work in `run`."""
    # The event loop's clock cannot hold Kafka's "never" (2^63 ms): a day is never enough for a test of it.
    while True:
        await asyncio.sleep(min(every_s, 86_400.0))
        done = asyncio.Event()
        run(lambda ended=done: _do(chore, ended))  # type: ignore[misc]
        await done.wait()


def _do(chore: Callable[[], object], ended: asyncio.Event) -> None:
    """One round, as long work: between two slices the loop serves requests."""
    try:
        slices = chore()
        if isinstance(slices, Iterator):
            for _ in slices:
                breathe()
    except Exception:
        # Whatever it was: a chore that ended here would never be done again, and nobody would know.
        log.exception("a chore failed; it is tried again at its next time")
    finally:
        ended.set()
