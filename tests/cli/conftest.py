from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.testing.cluster import Cluster

Run = Callable[..., Result]


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=2) as running:
        yield running


@pytest.fixture(scope="package")
def run(cluster: Cluster) -> Run:
    return runner_of(cluster)


def runner_of(cluster: Cluster) -> Run:
    """Runs a command line against the cluster, `lines` on standard input; standard output and standard error are
    separate."""

    def command(*arguments: str, bootstrap: str | None = None, lines: str | None = None) -> Result:
        runner = CliRunner(env={"SIGNALBOX_BOOTSTRAP": bootstrap or cluster.bootstrap_servers})
        return runner.invoke(app, arguments, input=lines)

    return command
