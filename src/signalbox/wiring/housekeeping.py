"""Periodic tasks of a running node: retention, checkpoints, the scrub of the logs, audit roll-ups, writing the
audit trail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

from signalbox.broker.audit.audit_rollups import ROLLUP_WINDOW_S
from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.error_table import KafkaError
from signalbox.storage.validation.log_scrub import LogScrub, measure_scrub
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.node_components import NodeComponents
from signalbox.wiring.scrubbing import Scrubbing

log = logging.getLogger(__name__)


class Housekeeping:
    """The node's periodic tasks; a task that fails is logged and retried at its next interval."""

    def __init__(self, components: NodeComponents, config: NodeConfig) -> None:
        self._components = components
        self._config = config
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the tasks. Needs the broker epoch: the audit trail is written with it."""
        components, config = self._components, self._config
        logs = components.data.logs
        delay_ms, no_delay = config["log.initial.task.delay.ms"], None
        for every_ms, chore, first_ms in (
            (config["log.retention.check.interval.ms"], logs.retention_slices, delay_ms),
            (config["log.flush.offset.checkpoint.interval.ms"], logs.checkpoint, delay_ms),
            (config["log.flush.scheduler.interval.ms"], logs.flush_due, delay_ms),
            (config["producer.id.expiration.check.interval.ms"], self._expire_producers, no_delay),
            (int(ROLLUP_WINDOW_S * 1000), components.telemetry.rollups.flush, no_delay),
        ):
            first_s = None if first_ms is None else first_ms / 1000
            repeated = repeat(every_ms / 1000, chore, components.scheduler.run, first_s)
            self._tasks.append(asyncio.get_running_loop().create_task(repeated))
        scrub = LogScrub(logs)
        measure_scrub(components.context.metrics, scrub)
        scrubbing = Scrubbing(scrub, lambda: components.context.dynamic.values, components.scheduler.run)
        self._tasks.append(asyncio.get_running_loop().create_task(scrubbing.run()))
        if config["signalbox.audit.enable"]:
            self._tasks.append(
                asyncio.get_running_loop().create_task(
                    components.telemetry.audit.write(components.epochs.broker_epoch, components.audit_delivery)
                )
            )

    def _expire_producers(self) -> None:
        # Read in every round: the value can change while the broker runs.
        expiration_ms = self._components.context.dynamic.values["producer.id.expiration.ms"]
        assert isinstance(expiration_ms, int)
        self._components.data.logs.expire_producers(expiration_ms)

    async def stop(self, drain_s: float) -> None:
        """Stop the tasks; waits up to `drain_s` seconds until the audit trail is written."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if drain_s and self._config["signalbox.audit.enable"]:
            self._components.telemetry.rollups.flush()
            self._components.server.flush_audit()
            await self._components.telemetry.audit.drain(self._components.audit_delivery, drain_s)
        await self._components.telemetry.audit.close()
        await self._components.audit_delivery.close()


async def repeat(
    every_s: float,
    chore: Callable[[], object],
    run: Callable[[Callable[[], None]], None],
    first_s: float | None = None,
) -> None:
    """Run `chore` every `every_s` seconds, as a cooperative task in `run`; the first time after `first_s`, if it is not
    None."""
    # The event loop's clock cannot represent Kafka's "never" (2^63 ms), so a wait is limited to a day.
    wait_s = every_s if first_s is None else first_s
    while True:
        await asyncio.sleep(min(wait_s, 86_400.0))
        wait_s = every_s
        done = asyncio.Event()
        run(lambda ended=done: _do(chore, ended))  # type: ignore[misc]
        await done.wait()


def _do(chore: Callable[[], object], ended: asyncio.Event) -> None:
    """One round, as a cooperative task: the loop serves requests between two slices."""
    try:
        slices = chore()
        if isinstance(slices, Iterator):
            for _ in slices:
                yield_if_due()
    except KafkaError as error:
        log.warning("Background task failed (%s) and is retried at its next interval", error)
    except Exception:
        # Catches everything: otherwise the task would silently stop for good.
        log.exception("Background task failed; it is retried at its next interval")
    finally:
        ended.set()
