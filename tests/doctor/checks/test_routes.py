from __future__ import annotations

import pytest

from signalbox.common.ids import Grade
from signalbox.doctor.checks.routes import check_bootstrap, check_identity_versions, check_nodes
from tests.doctor.samples import advertised, codes_of, connection, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_every_node_at_its_address() -> None:
    assert codes_of(check_nodes(listener(advertised(1, 1, 1), advertised(2, 2, 2)))) == []


def test_two_and_three_exchanged_nodes() -> None:
    two = list(check_nodes(listener(advertised(1, 1), advertised(2, 3), advertised(3, 2))))
    assert codes_of(two) == [("CROSSED", 2), ("CROSSED", 3)]
    assert two[0].text == "node 3 responds for node 2: nodes 2, 3 are exchanged"
    assert two[0].value == "broker3:9092"
    three = list(check_nodes(listener(advertised(1, 2), advertised(2, 3), advertised(3, 1))))
    assert {finding.text.partition(": ")[2] for finding in three} == {"nodes 1, 2, 3 are exchanged"}


def test_one_wrong_node_and_all_addresses_to_one_node() -> None:
    assert codes_of(check_nodes(listener(advertised(1, 1), advertised(2, 1)))) == [("WRONG_NODE", 2)]
    assert codes_of(check_nodes(listener(advertised(1, 1), advertised(2, 1), advertised(3, 1)))) == [
        ("ALL_LEAD_TO_ONE", 2),
        ("ALL_LEAD_TO_ONE", 3),
    ]


def test_a_path_into_a_cycle_is_not_part_of_it() -> None:
    found = codes_of(check_nodes(listener(advertised(1, 2), advertised(2, 3), advertised(3, 2))))
    assert found == [("ALL_LEAD_TO_ONE", 1), ("CROSSED", 2), ("CROSSED", 3)]


def test_several_nodes_alternately_or_one_after_the_other() -> None:
    (balanced,) = check_nodes(listener(advertised(1, 1, 2, 3, 1, 2)))
    assert balanced.code == "BALANCED"
    assert balanced.text == "of 5 connections for node 1: node 1 2 times, node 2 2 times, node 3 1 times"
    (changed,) = check_nodes(listener(advertised(1, 1, 1, 2, 2, 2)))
    assert changed.text == "node 1 responded at first, then node 2; Metadata has node 1 there"
    assert changed.code == "ROUTE_CHANGED"


def test_several_nodes_of_which_one_is_not_known() -> None:
    rejected = connection(grade=Grade.REJECTED, stage="api-versions")
    rows = (connection(1), rejected, connection(1), rejected)
    (finding,) = check_nodes(listener(advertised(1, connections=rows)))
    assert finding.text == "of 4 connections for node 1: another node 2 times, node 1 2 times"


def test_a_duplicate_address_is_not_a_wrong_node_too() -> None:
    shared = (advertised(1, 1, host="s"), advertised(2, 1, host="s"))
    assert codes_of(check_nodes(listener(*shared))) == []


def test_a_node_of_another_cluster() -> None:
    foreign = advertised(2, connections=(connection(7, cluster_id="cluster-B"),))
    (finding,) = check_nodes(listener(foreign))
    assert finding.code == "WRONG_CLUSTER"
    assert finding.text == "node 7 of cluster cluster-B responds for node 2 of cluster cluster-A"


def test_nodes_that_cannot_be_identified() -> None:
    unknown = advertised(1, connections=(connection(),))
    assert codes_of(check_nodes(listener(unknown))) == [("UNVERIFIED", 1)]
    rejects_all = advertised(1, connections=(connection(grade=Grade.REJECTED),))
    assert codes_of(check_nodes(listener(rejects_all))) == [("IDENTITY_REWRITTEN", 1)]
    unasked = advertised(1, connections=(connection(grade=Grade.REJECTED, stage="api-versions"),))
    assert codes_of(check_nodes(listener(unasked))) == [("WRONG_NODE", 1)]


def test_bootstrap_servers() -> None:
    assert codes_of(check_bootstrap(listener(seed(1, 2)))) == [("LOAD_BALANCER", -1)]
    assert codes_of(check_bootstrap(listener(seed(1, 1), advertised(1, 1, 2)))) == []
    rejecting = seed(connections=(connection(grade=Grade.REJECTED),))
    assert codes_of(check_bootstrap(listener(rejecting))) == [("IDENTITY_REWRITTEN", -1)]


def test_identity_that_is_ignored_or_hidden() -> None:
    ignored = advertised(1, connections=(connection(1, grade=Grade.CONFIGS),))
    assert codes_of(check_identity_versions(listener(ignored))) == [("IDENTITY_IGNORED", 1)]
    old = advertised(2, connections=(connection(2, grade=Grade.CONFIGS, api_versions_max=4),))
    assert codes_of(check_identity_versions(listener(old))) == []
    assert codes_of(check_identity_versions(listener(advertised(1, 1), old))) == [("VERSIONS_CAPPED", 2)]
