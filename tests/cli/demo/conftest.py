from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from signalbox.cli.demo.stage import Stage
from signalbox.cli.demo.steps import demo_cluster
from signalbox.testing.switchboard_thread import SwitchboardThread


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The demo's own cluster of three processes, with its switchboard."""
    folder = tmp_path_factory.mktemp("demo")
    with SwitchboardThread() as switchboard:
        made = Stage(Console(file=io.StringIO()), folder, demo_cluster(folder, switchboard), switchboard)
        made.cluster.start()
        try:
            for node_id, broker in made.cluster.brokers.items():
                host, _, port = str(broker.ready["bound"]["ROUTED"]).rpartition(":")
                switchboard.set_home(f"broker-{node_id}", (host, int(port)))
            yield made
        finally:
            made.cluster.stop(graceful=False)
