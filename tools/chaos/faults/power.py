"""Several brokers killed at once and started together, their ports refusing connections in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from signalbox.testing.process_cluster import ProcessCluster
from tools.chaos.faults.network import Network


@dataclass(frozen=True, slots=True)
class Power:
    """Kills and starts a cluster's brokers."""

    cluster: ProcessCluster
    network: Network

    @property
    def broker_ids(self) -> list[int]:
        return list(self.cluster.brokers)

    def off(self, broker_ids: Sequence[int]) -> None:
        """Kills them in this order, before any of the others can notice."""
        self.cluster.kill_at_once(broker_ids)
        for each in broker_ids:
            self.network.refuse_connections(each)

    def on(self, broker_ids: Sequence[int]) -> None:
        """Starts them and waits until they are ready."""
        for each in broker_ids:
            self.network.heal(each)
        self.cluster.start_brokers(broker_ids)

    def directory(self, broker_id: int) -> Path:
        """The broker's log directory."""
        return self.cluster.brokers[broker_id].folder / "data"
