"""What the figures of a drill are made of."""

from __future__ import annotations

import math
from pathlib import Path

from bench.misroute.drills import Figures, quantile
from bench.misroute.routed_sides import RoutedOurs

from signalbox.common.config.properties_file import parse_properties


def test_quantiles() -> None:
    values = [float(value) for value in reversed(range(200))]
    assert (quantile(values, 0.5), quantile(values, 0.99), quantile([7.0], 0.99)) == (100, 198, 7)
    assert math.isnan(quantile([], 0.99))


def test_figures_of_several_rounds() -> None:
    figures = Figures([1.0], [2.0], [3.0], [4.0])
    figures.add(Figures([5.0], [], [6.0, 7.0], [8.0]))
    assert figures == Figures([1.0, 5.0], [2.0], [3.0, 6.0, 7.0], [4.0, 8.0])


def test_clients_are_sent_to_the_lines_and_brokers_to_each_other(tmp_path: Path) -> None:
    lines = {node_id: ("127.0.0.1", 60_000 + node_id) for node_id in (1, 2, 3)}
    ours = RoutedOurs(tmp_path, lines)
    ours._cluster.write_files()
    for node_id, port in ours.client_ports.items():
        values = parse_properties((tmp_path / f"broker-{node_id}" / "server.properties").read_text()).values
        assert f"CLIENT://127.0.0.1:{port}" in values["listeners"]
        assert f"CLIENT://127.0.0.1:{60_000 + node_id}" in values["advertised.listeners"]
        assert values["inter.broker.listener.name"] == "REPLICATION"
