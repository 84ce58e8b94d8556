"""Steps are reported in order."""

from __future__ import annotations

from signalbox.pipeline.events import PipelineEvent, Reporting, Step


def test_steps_have_the_order_of_a_batch() -> None:
    assert [step.value for step in Step][:4] == ["batch_started", "batch_read", "table_committed", "batch_done"]


def test_progress_goes_to_the_terminal_by_default() -> None:
    assert Reporting().say is print
    events: list[PipelineEvent] = []
    reporting = Reporting(listener=events.append)
    assert reporting.listener is not None
    reporting.listener(PipelineEvent(step=Step.WAITING, pipeline="t", batch_id=1))
    assert events[0].skipped is False
