from __future__ import annotations

import pytest

from signalbox.doctor.checks.clusters import (
    SAMPLE_IDS,
    check_cluster_ids,
    check_metadata_contents,
    check_missing_listeners,
)
from signalbox.doctor.observations import ClusterView
from tests.doctor.samples import CLUSTER, advertised, codes_of, connection, examination, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_bootstrap_servers_of_several_clusters() -> None:
    other = seed(host="other", connections=(connection(1, cluster_id="cluster-B"),))
    (finding,) = check_cluster_ids(examination(listener(seed(1)), listener(other, bootstrap="other:9092")))
    assert (finding.code, finding.key) == ("SEVERAL_CLUSTERS", "bootstrap.servers")
    assert finding.text == "kafka:9092: cluster cluster-A; other:9092: cluster cluster-B"
    assert codes_of(check_cluster_ids(examination(listener(seed(1), seed(2, host="x"))))) == []


def test_the_id_of_an_example() -> None:
    row = seed(connections=(connection(1, cluster_id=SAMPLE_IDS[0]),))
    assert codes_of(check_cluster_ids(examination(listener(row)))) == [("SAMPLE_CLUSTER_ID", -1)]


def test_a_node_that_responds_on_another_listener_only() -> None:
    inside = listener(seed(1), advertised(1, 1), advertised(2, 2), bootstrap="inside:1")
    outside = listener(seed(1), advertised(1, 1, host="outside1"), bootstrap="outside:1")
    (finding,) = check_missing_listeners(examination(inside, outside))
    assert (finding.code, finding.listener) == ("LISTENER_MISSING", "outside:1")
    dead = listener(seed(1), advertised(1, 1), advertised(2), bootstrap="inside:1")
    assert codes_of(check_missing_listeners(examination(dead, outside))) == []


def test_partitions_whose_leader_lacks_the_listener() -> None:
    view = ClusterView(cluster_id=CLUSTER, brokers={"1": "broker1:9092"}, without_listener=("t-0", "t-1"))
    (finding,) = check_missing_listeners(examination(listener(seed(1), advertised(1, 1), view=view)))
    assert "t-0, t-1" in finding.text


def test_metadata_that_cannot_be_right() -> None:
    def codes(view: ClusterView) -> list[tuple[str, int]]:
        return codes_of(check_metadata_contents(listener(seed(1), view=view)))

    brokers = {"1": "x:1"}
    assert codes(ClusterView(cluster_id="c", brokers=brokers, advertised_count=2)) == [("TOO_MANY_BROKERS", -1)]
    assert codes(ClusterView(cluster_id="c")) == [("NO_BROKERS", -1)]
    assert codes(ClusterView()) == [("NO_METADATA", -1)]
    assert codes(ClusterView(brokers=brokers, advertised_count=1)) == [("NO_CLUSTER_ID", -1)]
    assert codes_of(check_metadata_contents(listener(seed(connections=()), view=ClusterView()))) == []
