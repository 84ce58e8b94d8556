"""The forced control plane refuses data and answers what belongs to it."""

from __future__ import annotations

import threading

from signalbox.cli.demo.control_plane import refuse_data, watch_latency
from signalbox.cli.demo.stage import Stage


def test_data_is_refused(stage: Stage) -> None:
    refuse_data(stage)
    assert [check.claim for check in stage.checks[-2:]] == [
        "a data request on the control plane is refused",
        "controller requests' set-up still works there",
    ]


def test_latencies_of_all_brokers_in_order(stage: Stage) -> None:
    with watch_latency(stage, "test"):
        threading.Event().wait(0.2)
    found = stage.facts["control_latency_ms"]["test"]
    assert len(found) >= 3
    assert found == sorted(found)
