"""Clusters that several tests share: one for each set of options, started when it is first asked for."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self

from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


class ClusterPool:
    """Use it as a `with` block: at its end all clusters are stopped."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._clusters: dict[str, KafkaCluster] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clusters.clear()
        self._stack.close()

    def get(self, **options: Any) -> KafkaCluster:
        """The cluster with these fields of ClusterOptions; what one test changes in it, others see."""
        wanted = ClusterOptions.of(options)
        if wanted.key not in self._clusters:
            self._clusters[wanted.key] = self._stack.enter_context(KafkaCluster(wanted))
        return self._clusters[wanted.key]
