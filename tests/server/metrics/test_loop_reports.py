from __future__ import annotations

import asyncio
import threading

import pytest

from signalbox.server.metrics.health_pages import NodeReport, Phase
from signalbox.server.metrics.loop_reports import LoopReports

pytestmark = pytest.mark.spec("R9")

RUNNING = NodeReport(Phase.RUNNING, (), ())


def test_the_last_report_while_the_loop_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's loop is in the main thread, the reader's in another one; the main thread waits inside a callback."""
    monkeypatch.setattr("signalbox.server.metrics.loop_reports.WAIT_S", 0.01)
    over, results, reports = threading.Event(), list[NodeReport](), list[LoopReports]()

    async def read(until_silent: bool) -> None:
        while True:
            report = await reports[0].latest()
            if until_silent == (report.silent_s > 0):
                results.append(report)
                return

    async def node() -> None:
        reports.append(LoopReports(asyncio.get_running_loop(), lambda: RUNNING))
        reader = asyncio.new_event_loop()
        thread = threading.Thread(target=reader.run_forever)
        thread.start()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(read(until_silent=False), reader))
        silent = asyncio.run_coroutine_threadsafe(read(until_silent=True), reader)
        silent.add_done_callback(lambda _: over.set())
        assert over.wait(60), "the reader got no report while the loop was busy"
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(read(until_silent=False), reader))
        reader.call_soon_threadsafe(reader.stop)
        await asyncio.to_thread(thread.join)
        reader.close()

    asyncio.run(node())
    before, busy, after = results
    assert before == after == RUNNING
    assert busy._replace(silent_s=0.0) == RUNNING
    assert busy.silent_s >= 0.01


def test_a_loop_that_never_responded_belongs_to_a_node_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.server.metrics.loop_reports.WAIT_S", 0.01)
    idle = asyncio.new_event_loop()

    async def read() -> NodeReport:
        return await LoopReports(idle, lambda: RUNNING).latest()

    report = asyncio.run(read())
    idle.close()
    assert (report.phase, report.not_ready_reasons) == (Phase.STARTING, ["the node is starting"])


def test_a_report_that_fails_is_a_reason_and_does_not_silence_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    broken = [True, False]

    def report() -> NodeReport:
        if broken.pop(0):
            raise OSError("no store")
        return RUNNING

    async def read() -> tuple[NodeReport, NodeReport]:
        reports = LoopReports(asyncio.get_running_loop(), report)
        return await reports.latest(), await reports.latest()

    failed, after = asyncio.run(read())
    assert (failed.silent_s, failed.not_ready_reasons) == (0, ["the state of the node cannot be reported: no store"])
    assert after == RUNNING
    assert "The state of the node cannot be reported" in caplog.text
