"""The ends of the logs of a failed test's brokers and controllers, for the report: CI keeps no other copy of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from signalbox.testing.process_cluster import BrokerProcess, ProcessCluster

_LINES = 40


def ends_of_logs(fixtures: Iterable[object]) -> list[tuple[str, str]]:
    """(title, text) for every node whose folder is below a fixture's path, or whose cluster a fixture is or has."""
    files: dict[Path, None] = {}
    for fixture in fixtures:
        if isinstance(fixture, Path):
            files.update(dict.fromkeys(sorted(fixture.rglob("broker.log"))))
        for cluster in (fixture, getattr(fixture, "cluster", None)):
            if isinstance(cluster, ProcessCluster):
                files.update(dict.fromkeys(node.log_file for node in cluster.nodes.values()))
    return [(f"end of {file.parent.name}/{file.name}", BrokerProcess(0, file.parent).tail(_LINES)) for file in files]
