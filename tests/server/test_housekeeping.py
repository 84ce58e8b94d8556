"""Periodic tasks run again whatever happened before; long ones yield to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.server.housekeeping import Chore, Housekeeping, log_chores, repeat
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of


async def until(task: asyncio.Task[None], enough: asyncio.Event) -> None:
    async with asyncio.timeout(60):
        await enough.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("trouble", [OSError("disk"), ValueError("a bug"), KeyError("a bug")])
def test_a_chore_that_fails_comes_round_again(trouble: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        times, enough = [], asyncio.Event()

        def chore() -> None:
            times.append(1)
            if len(times) == 3:
                enough.set()
            raise trouble

        await until(asyncio.ensure_future(repeat(Chore(0.0, chore), ImmediateScheduler())), enough)
        assert len(times) >= 3

    asyncio.run(scenario())
    assert "Background task failed" in caplog.text


def test_a_chore_in_slices_lets_others_run_between() -> None:
    async def scenario() -> None:
        order: list[str] = []
        enough = asyncio.Event()

        def slices() -> Iterator[None]:
            for _ in range(3):
                order.append("slice")
                asyncio.get_running_loop().call_soon(order.append, "other")
                yield
            enough.set()

        await until(
            asyncio.ensure_future(repeat(Chore(0.0, slices), TaskScheduler(asyncio.get_running_loop(), slice_us=0))),
            enough,
        )
        assert order[:6] == ["slice", "other"] * 3

    asyncio.run(scenario())


def test_the_first_time_has_a_delay_of_its_own() -> None:
    async def scenario() -> None:
        done = asyncio.Event()
        await until(asyncio.ensure_future(repeat(Chore(3_600.0, done.set, 0.0), ImmediateScheduler())), done)

    asyncio.run(scenario())


def test_never_is_longer_than_the_loops_clock_can_hold() -> None:
    async def scenario() -> None:
        task = asyncio.ensure_future(repeat(Chore((2**63 - 1) / 1000, lambda: None), ImmediateScheduler()))
        await asyncio.sleep(0)
        assert not task.done()
        task.cancel()

    asyncio.run(scenario())


def test_retention_flush_and_checkpoints_begin_after_the_initial_task_delay() -> None:
    """log.initial.task.delay.ms, whatever their intervals; the expiry of producers has only its interval."""
    begun: list[str] = []
    logs: Any = SimpleNamespace(
        retention_slices=lambda: begun.append("retention"),
        checkpoint=lambda: begun.append("checkpoint"),
        flush_due=lambda: begun.append("flush"),
        expire_producers=lambda limit_ms: begun.append("expiry"),
    )

    async def begun_within(delay_ms: int, interval_ms: int) -> list[str]:
        """What has run when the event loop has nothing left to do but to wait for an hour or more."""
        begun.clear()
        keys = ["log.retention.check.interval.ms", "log.flush.offset.checkpoint.interval.ms",
                "log.flush.scheduler.interval.ms", "producer.id.expiration.check.interval.ms"]  # fmt: skip
        values = {**config_of().values, **dict.fromkeys(keys, interval_ms), "log.initial.task.delay.ms": delay_ms}
        dynamic: Any = SimpleNamespace(values=values)
        tasks = [asyncio.ensure_future(repeat(chore, ImmediateScheduler())) for chore in log_chores(logs, dynamic)]
        for _ in range(20):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return sorted(set(begun))

    assert asyncio.run(begun_within(delay_ms=0, interval_ms=3_600_000)) == ["checkpoint", "flush", "retention"]
    assert asyncio.run(begun_within(delay_ms=3_600_000, interval_ms=0)) == ["expiry"]


def test_idle_producers_expire_after_the_current_time_limit() -> None:
    limits_ms: list[int] = []
    values = dict(config_of().values)
    dynamic: Any = SimpleNamespace(values=values)
    logs: Any = SimpleNamespace(
        expire_producers=limits_ms.append, retention_slices=list, checkpoint=list, flush_due=list
    )
    expiry = log_chores(logs, dynamic)[-1]
    for limit_ms in (5, 6):
        values["producer.id.expiration.ms"] = limit_ms
        expiry.action()
    assert limits_ms == [5, 6]


class Audit:
    """Records the calls of an audit writer."""

    enabled = True

    def __init__(self) -> None:
        self.calls: list[str] = []

    def flush_rollups(self) -> None:
        self.calls.append("flush")

    async def write(self, broker_epoch: int) -> None:
        self.calls.append(f"write {broker_epoch}")
        await asyncio.Event().wait()

    async def drain(self, timeout_s: float) -> None:
        self.calls.append(f"drain {timeout_s}")

    async def close(self) -> None:
        self.calls.append("close")


@pytest.mark.parametrize(
    ("is_started", "drain_s", "calls"),
    [
        (True, 3.0, ["write 7", "drain 3.0", "close"]),
        (True, 0.0, ["write 7", "close"]),
        (False, 3.0, ["close"]),
    ],
)
def test_the_audit_trail_is_drained_at_a_controlled_stop(is_started: bool, drain_s: float, calls: list[str]) -> None:
    audit: Any = Audit()

    async def scenario() -> None:
        housekeeping = Housekeeping(ImmediateScheduler(), (), audit)
        if is_started:
            housekeeping.start(broker_epoch=7)
            await asyncio.sleep(0)
        await housekeeping.stop(drain_s)

    asyncio.run(scenario())
    assert audit.calls == calls
