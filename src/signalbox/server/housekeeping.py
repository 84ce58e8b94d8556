"""The periodic tasks of a running node: retention, checkpoints, the scrub of the logs, audit roll-ups, and writing the
audit trail. A dedicated controller has only those of the audit trail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from signalbox.broker.audit.audit_rollups import ROLLUP_WINDOW_S
from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.protocol.error_table import KafkaError
from signalbox.server.audit_delivery import AuditWriter
from signalbox.server.scrubbing import Scrubbing
from signalbox.storage.log_manager import LogManager

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chore:
    """A periodic task: `action` runs every `every_s` seconds, the first time after `first_s`, if it is not None. If it
    returns an iterator, each step of that is a slice."""

    every_s: float
    action: Callable[[], object]
    first_s: float | None = None


class Housekeeping:
    """Runs chores as cooperative tasks. A chore that fails is logged and retried at its next interval."""

    def __init__(
        self,
        scheduler: TaskScheduler,
        chores: Sequence[Chore],
        audit: AuditWriter,
        scrubbing: Scrubbing | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._chores = [*chores, Chore(ROLLUP_WINDOW_S, audit.flush_rollups)]
        self._audit = audit
        self._scrubbing = scrubbing
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, broker_epoch: int) -> None:
        """Start the tasks; the audit trail is written with the broker epoch."""
        work = [repeat(chore, self._scheduler) for chore in self._chores]
        if self._scrubbing is not None:
            work.append(self._scrubbing.run())
        if self._audit.enabled:
            work.append(self._audit.write(broker_epoch))
        self._tasks = [asyncio.get_running_loop().create_task(each) for each in work]

    async def stop(self, drain_s: float) -> None:
        """Stop the tasks; waits up to `drain_s` seconds until the audit trail is written. Also without a start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if drain_s and self._tasks:
            await self._audit.drain(drain_s)
        await self._audit.close()


def log_chores(logs: LogManager, dynamic: DynamicBrokerConfig) -> list[Chore]:
    """The chores of a broker's logs, at the intervals of its configuration."""
    first_s = _seconds(dynamic, "log.initial.task.delay.ms")
    return [
        Chore(_seconds(dynamic, "log.retention.check.interval.ms"), logs.retention_slices, first_s),
        Chore(_seconds(dynamic, "log.flush.offset.checkpoint.interval.ms"), logs.checkpoint, first_s),
        Chore(_seconds(dynamic, "log.flush.scheduler.interval.ms"), logs.flush_due, first_s),
        Chore(
            _seconds(dynamic, "producer.id.expiration.check.interval.ms"),
            # Read in every round: the value can change while the broker runs.
            lambda: logs.expire_producers(_milliseconds(dynamic, "producer.id.expiration.ms")),
        ),
    ]


def _seconds(dynamic: DynamicBrokerConfig, key: str) -> float:
    return _milliseconds(dynamic, key) / 1000


def _milliseconds(dynamic: DynamicBrokerConfig, key: str) -> int:
    value = dynamic.values[key]
    assert isinstance(value, int)
    return value


async def repeat(chore: Chore, scheduler: TaskScheduler) -> None:
    """Run a chore again and again, as a cooperative task."""
    # The event loop's clock cannot represent Kafka's "never" (2^63 ms), so a wait is limited to a day.
    wait_s = chore.every_s if chore.first_s is None else chore.first_s
    while True:
        await asyncio.sleep(min(wait_s, 86_400.0))
        wait_s = chore.every_s
        await scheduler.result_of(partial(_do, chore.action))


def _do(action: Callable[[], object]) -> None:
    """One round, as a cooperative task: the loop serves requests between two slices. Yields."""
    try:
        slices = action()
        if isinstance(slices, Iterator):
            for _ in yielding(slices):
                pass
    except KafkaError as error:
        log.warning("Background task failed (%s) and is retried at its next interval", error)
    except Exception:
        # Catches everything: otherwise the task would silently stop for good.
        log.exception("Background task failed; it is retried at its next interval")
