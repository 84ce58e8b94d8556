"""Normal operation logs no warning: a cluster starts for the first time, a broker restarts, all stop at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK, controller_id, has_another_controller
from tests.waiting import until

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


def test_a_killed_broker_that_was_the_controller_is_a_warning(tmp_path: Path) -> None:
    """The next controller may find its registration, or find that the registration has ended already."""
    with ProcessCluster(tmp_path, 3, overrides=QUICK) as cluster:
        until(lambda: controller_id(cluster) != -1, "a controller")
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        admin.create_topics([NewTopic("t", 3, 3)], operation_timeout=20)["t"].result(30)
        victim = controller_id(cluster)
        cluster.kill(victim)
        until(partial(has_another_controller, cluster, victim), "another controller")
        survivors = [broker for node_id, broker in cluster.brokers.items() if node_id != victim]

        def lost() -> list[str]:
            lines = [line for broker in survivors for line in broker.log_file.read_text().splitlines()]
            return [line for line in lines if " WARNING " in line and f"Broker {victim} is gone" in line]

        until(lambda: len(lost()) > 0, "the warning")
        assert len(lost()) == 1


def test_a_cluster_that_stopped_starts_without_a_warning(tmp_path: Path) -> None:
    """The first controller finds brokers in ISRs that have not registered yet: they are expected, not lost."""
    with ProcessCluster(tmp_path, 3, overrides=QUICK) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        admin.create_topics([NewTopic("t", 3, 3)], operation_timeout=20)["t"].result(30)
        cluster.stop()
        cluster.start()
    for broker in cluster.brokers.values():
        assert [
            line for line in broker.log_file.read_text().splitlines() if "is gone" in line and " WARN" in line
        ] == []
