"""Brokers in one process that advertise lines of a switchboard on the listener CLIENT, and their pages over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import free_ports
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.waiting import until

QUICK = {"signalbox.metrics.http.port": "0", "signalbox.advertised.check.interval.ms": "200"}


class LinedCluster(Cluster):
    """Broker 1 advertises the line "1", and so on."""

    def __init__(self, board: SwitchboardThread, brokers: int, overrides: Mapping[str, str]) -> None:
        super().__init__(brokers=brokers, overrides={**QUICK, **overrides})
        self.board = board
        self._ports = dict(enumerate(free_ports(brokers), start=1))
        self._advertised: dict[int, tuple[str, int]] = {}
        for node_id, port in self._ports.items():
            board.add_line(str(node_id), ("127.0.0.1", port))

    def advertise(self, node_id: int, address: tuple[str, int]) -> None:
        """The address of the listener CLIENT from the broker's next start on."""
        self._advertised[node_id] = address

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        host, port = self._advertised.get(node_id, self.board.line(str(node_id)).address)
        others = "REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0"
        return {
            **super()._properties(node_id, folder),
            "listeners": f"CLIENT://127.0.0.1:{self._ports[node_id]},{others}",
            "advertised.listeners": f"CLIENT://{host}:{port},{others}",
        }

    def page(self, node_id: int, name: str) -> tuple[int, str]:
        """(HTTP status, body) of a page."""
        return read_page(str(self.nodes[node_id].describe()["metrics"]), name)

    def health(self, node_id: int) -> dict[str, Any]:
        status, text = self.page(node_id, "health")
        assert status == 200
        page: dict[str, Any] = json.loads(text)
        return page

    def states(self, node_id: int) -> dict[tuple[int, str], str]:
        """What a broker has found: states by broker and listener."""
        rows = self.health(node_id)["advertised_addresses"]
        return {(row["node_id"], row["listener"]): row["state"] for row in rows}

    def wait_for(self, node_id: int, of: int, state: str, listener: str = "CLIENT") -> None:
        """Wait until broker `node_id` has found this state of the address of broker `of`."""
        until(lambda: self.states(node_id).get((of, listener)) == state, f"{listener} of {of} is {state} for {node_id}")


def read_page(metrics_url: str, name: str) -> tuple[int, str]:
    """(HTTP status, body) of a page beside the metrics page."""
    try:
        with urllib.request.urlopen(metrics_url.replace("/metrics", f"/{name}"), timeout=30) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
