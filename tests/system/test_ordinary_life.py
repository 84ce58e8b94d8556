"""Normal operation logs no warning: a cluster starts for the first time, a broker restarts, all stop at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK

pytestmark = [pytest.mark.timeout(240)]
# A true warning about the listeners of this test: any process on this host may connect to them.
_TRUE = "is PLAINTEXT: brokers cannot be distinguished from clients there"


def test_no_warning(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 3, overrides=QUICK) as cluster:
        assert cluster.stop_broker(2) == 0
        cluster.start_broker(2)
    for broker in cluster.brokers.values():
        lines = broker.log_file.read_text().splitlines()
        assert [line for line in lines if (" WARNING " in line or " ERROR " in line) and _TRUE not in line] == []


def test_a_killed_broker_is_a_warning(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 2, overrides=QUICK, controllers=1) as cluster:
        cluster.kill(2)
        cluster.start_broker(2)
        (controller,) = cluster.controllers.values()
        lines = controller.log_file.read_text().splitlines()
    assert any(" WARNING " in line and "Broker 2 is gone" in line for line in lines)
