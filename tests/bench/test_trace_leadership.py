"""Means over all brokers of what happened between two looks at their metrics pages."""

from __future__ import annotations

from bench.trace_leadership import Stage, stages


def page(request: str, count: int, queue_ms: float, total_ms: float) -> str:
    prefix = "kafka_network_requestmetrics"
    return "".join(
        f'{prefix}_{name}_{statistic}{{request="{request}"}} {value}\n'
        for name, total in (("requestqueuetimems", queue_ms), ("totaltimems", total_ms))
        for statistic, value in (("sum", total), ("count", count))
    )


def test_a_stage_has_the_means_of_its_requests() -> None:
    before = page("LeaderAndIsr", 4, 1.0, 10.0) + page("LeaderAndIsr", 0, 0.0, 0.0)
    after = page("LeaderAndIsr", 10, 4.0, 40.0) + page("LeaderAndIsr", 6, 3.0, 30.0) + page("Fetch", 9, 9.0, 9.0)
    assert list(stages(before, after, 6)) == [Stage("LeaderAndIsr", 2.0, 0.5, 5.0)]
