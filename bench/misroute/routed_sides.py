"""Clusters whose clients reach each node by a line of the switchboard; the nodes reach each other directly.

`client_ports`: where the lines lead; at these addresses clients also bootstrap, which no drill disturbs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import RETENTION, Address, Ours, Side
from signalbox.testing.free_ports import free_ports
from signalbox.testing.kafka_cluster.cluster_options import OWN_LISTENERS, ClusterOptions
from signalbox.testing.kafka_cluster.listener_properties import of_all, of_broker
from signalbox.testing.process_cluster import ProcessCluster

NODES = (1, 2, 3)
_KAFKA_LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{port},CLIENT://127.0.0.1:{client_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},CLIENT://{host}:{advertised_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
group.initial.rebalance.delay.ms=0
"""


class RoutedOurs(Ours):
    """`advertised`: the addresses of the lines, by node."""

    def __init__(self, folder: Path, advertised: Mapping[int, Address]) -> None:
        Side.__init__(self)
        ports = free_ports(len(OWN_LISTENERS) * len(NODES))
        self._ports = {
            node_id: dict(zip(OWN_LISTENERS, ports[index :: len(NODES)], strict=True))
            for index, node_id in enumerate(NODES)
        }
        self._cluster = ProcessCluster(
            folder,
            len(NODES),
            overrides={**RETENTION, **of_all(ClusterOptions(), None)},
            per_broker={node_id: of_broker(self._ports[node_id], {"CLIENT": advertised[node_id]}) for node_id in NODES},
        )

    def launch(self) -> None:
        self._cluster.start()
        self.addresses = {node_id: ("127.0.0.1", self._ports[node_id]["KIT"]) for node_id in NODES}

    @property
    def client_ports(self) -> dict[int, int]:
        return {node_id: ports["CLIENT"] for node_id, ports in self._ports.items()}


class RoutedKafka(ApacheKafka):
    """`advertised`: as above."""

    def __init__(self, folder: Path, advertised: Mapping[int, Address]) -> None:
        super().__init__(folder)
        self._advertised = advertised
        self.client_ports = dict(zip(NODES, free_ports(len(NODES)), strict=True))

    def prepare(self) -> None:
        super().prepare()
        for index, node_id in enumerate(NODES):
            host, advertised_port = self._advertised[node_id]
            text = _KAFKA_LISTENERS.format(
                port=self._ports[index],
                client_port=self.client_ports[node_id],
                controller_port=self._controller_ports[index],
                host=host,
                advertised_port=advertised_port,
            )
            with (self._folder / f"kafka-{node_id}" / "server.properties").open("a") as file:
                file.write(text)  # of two lines with the same key the later one counts
