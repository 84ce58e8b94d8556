"""A client beside servers that lie to it, for a time that is virtual: calls without a pause, and what they cost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Address
from signalbox.client.failures import ClientFailure
from signalbox.protocol.error_table import KafkaError
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.client.simulation.network import Network, Route
from tests.client.simulation.virtual_loop import pass_time, run_virtually

CALL_TIMEOUT_MS = 2_000.0
GRACE_S = 0.06  # a call may wait as long as this for the timeout of its own request
Call = Callable[[ClusterClient], Awaitable[Any]]


class Attacked:
    """Brokers 1 to 3 at 10.0.0.1 to 10.0.0.3; `prepare` makes servers of another kind of them. `run` repeats a call for
    `seconds` and counts `results`: "ok", or the name of the failure. `texts` are those of the failures."""

    def __init__(self, prepare: Callable[[LoopbackCluster], None]) -> None:
        self.cluster = LoopbackCluster("cluster-A")
        self.network = Network(Random(1))
        for node_id in (1, 2, 3):
            self.cluster.brokers[node_id] = LoopbackBroker(node_id, self.cluster)
            self.cluster.advertised[node_id] = (f"10.0.0.{node_id}", 9092)
        self.bootstrap = self.cluster.bootstrap
        self.cluster.add_topic("t", 1, 2, 3)
        self.routes = {node_id: Route(broker) for node_id, broker in self.cluster.brokers.items()}
        self.network.routes = {Address(f"10.0.0.{node_id}", 9092): route for node_id, route in self.routes.items()}
        self.results: Counter[str] = Counter()
        self.texts: set[str] = set()
        self.longest_s = 0.0
        self.rebootstraps = 0
        prepare(self.cluster)

    def run(self, call: Call, seconds: float = 60.0, properties: Mapping[str, str] | None = None) -> Attacked:
        with pytest.MonkeyPatch.context() as patch:
            self.network.install(patch)
            run_virtually(self._run(call, seconds, properties or {}))
        return self

    async def _run(self, call: Call, seconds: float, properties: Mapping[str, str]) -> None:
        keys = {"bootstrap.servers": self.bootstrap, **properties}
        loop = asyncio.get_running_loop()
        async with ClusterClient(ClientSettings.from_properties(keys)) as client:
            end = loop.time() + seconds
            while loop.time() < end:
                began = loop.time()
                try:
                    await call(client)
                    self.results["ok"] += 1
                except (ClientFailure, KafkaError) as failure:
                    self.results[type(failure).__name__] += 1
                    self.texts.add(str(failure))
                self.longest_s = max(self.longest_s, loop.time() - began)
                await pass_time(0.01)
            self.rebootstraps = client.rebootstraps

    @property
    def requests(self) -> int:
        """All requests that the brokers have received."""
        return sum(len(broker.requests) for broker in self.cluster.brokers.values())
