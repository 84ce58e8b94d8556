"""The panels that an operator looks at first."""

from __future__ import annotations

from signalbox.server.monitoring.dashboard_table import FIRST_PANELS, description

PANELS = {panel.title: panel for panel in FIRST_PANELS}


def test_the_meanings_of_the_metrics_describe_a_panel() -> None:
    assert description(PANELS["Lag of followers"]).endswith("behind its leader's high watermark.")
    assert description(PANELS["Bytes in and out"]).count("kafka_server_brokertopicmetrics_bytes") == 2


def test_panels_with_two_counts_tell_them_apart() -> None:
    legends = [legend for _, legend in PANELS["Bytes in and out"].queries]
    assert legends == ["{{instance}} bytesin", "{{instance}} bytesout"]
    assert [legend for _, legend in PANELS["Requests"].queries] == ["{{request}}"]


def test_numbers_that_should_be_zero_are_red_from_one_on() -> None:
    assert PANELS["Partitions without a leader"].bad_from == 1
    assert PANELS["Active controllers"].bad_from == 2
    assert PANELS["Lag of followers"].bad_from is None
