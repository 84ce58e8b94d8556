from __future__ import annotations

from typing import Any

import pytest

from signalbox.doctor.checks.responses import (
    answers_for,
    check_completeness,
    check_coordinators,
    check_endpoints,
    check_metadata,
    check_own_configs,
)
from signalbox.doctor.observations import ClusterView, EndpointObservation
from tests.doctor.samples import CLUSTER, advertised, codes_of, connection, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_metadata_of_two_nodes() -> None:
    other = advertised(2, 2, brokers={"1": "inside1:9092", "2": "broker2:9092", "9": "x:1"})
    (finding,) = check_metadata(listener(seed(1), advertised(1, 1), other))
    assert finding.code == "METADATA_DIFFERS"
    assert finding.text.endswith("has node 1 at inside1:9092 instead of broker1:9092")
    fewer = advertised(2, 2, brokers={"2": "broker2:9092"})
    assert codes_of(check_metadata(listener(advertised(1, 1), fewer))) == []
    foreign = advertised(2, connections=(connection(2, cluster_id="B"),), brokers={"1": "inside1:9092"})
    assert codes_of(check_metadata(listener(advertised(1, 1), foreign))) == []


def test_addresses_in_other_responses() -> None:
    rows = tuple(
        EndpointObservation(source=source, asked=asked, node_id=node_id, address=address)
        for source, asked, node_id, address in [
            ("DescribeCluster", 1, 1, "broker1:9092"),
            ("Fetch", 1, 2, "inside2:9092"),
            ("Fetch", 3, 2, "inside2:9092"),
            ("FindCoordinator", 1, 7, "broker7:9092"),
        ]
    )
    view = ClusterView(cluster_id=CLUSTER, brokers={"1": "broker1:9092", "2": "broker2:9092"}, endpoints=rows)
    found = list(check_endpoints(listener(advertised(1, 1), advertised(2, 2), view=view)))
    assert [finding.text for finding in found] == [
        "Fetch has node 2 at inside2:9092, Metadata has broker2:9092",
    ]
    assert codes_of(found) == [("LEAKED_ADDRESS", 2)], "node 7 was restarted between the responses"


def found_coordinator(**fields: Any) -> EndpointObservation:
    given = {"source": "FindCoordinator", "asked": 1, "node_id": 7, "address": "broker7:9092"}
    return EndpointObservation(**{**given, **fields})


def test_coordinators_that_metadata_lacks() -> None:
    rows = (
        found_coordinator(absent=True),
        found_coordinator(absent=True, key="group payments"),
        found_coordinator(node_id=8),
    )
    view = ClusterView(cluster_id=CLUSTER, brokers={"1": "broker1:9092"}, endpoints=rows)
    (finding,) = check_coordinators(listener(advertised(1, 1), view=view))
    assert (finding.code, finding.severity) == ("COORDINATOR_UNKNOWN", "error")
    assert finding.text == (
        "node 1 names node 7 at broker7:9092 as coordinator of group payments, and Metadata lacks it"
    )


def test_named_groups_without_a_coordinator() -> None:
    error = {"node_id": -1, "address": "", "error": "COORDINATOR_NOT_AVAILABLE"}
    rows = (found_coordinator(**error, key="group payments"), found_coordinator(**error))
    (finding,) = check_coordinators(listener(view=ClusterView(endpoints=rows)))
    assert (finding.code, finding.severity) == ("NO_COORDINATOR", "unknown")
    assert finding.text == "node 1 names no coordinator of group payments: COORDINATOR_NOT_AVAILABLE"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "not checked: r0"),
        (5, "not checked: r0; r1; r2; r3; r4"),
        (7, "not checked: r0; r1; r2; r3; r4; and 2 more"),
    ],
)
def test_checks_that_leave_a_doubt_are_one_finding(count: int, text: str) -> None:
    reasons = tuple(f"r{index}" for index in range(count))
    view = ClusterView(skipped=("no matter", *reasons), unknown=reasons)
    (finding,) = check_completeness(listener(view=view))
    assert (finding.code, finding.severity, finding.text) == ("NOT_CHECKED", "unknown", text)
    assert not list(check_completeness(listener(view=ClusterView(skipped=("no matter",)))))


@pytest.mark.parametrize(
    ("own", "codes"),
    [
        ("A://inside1:9092,B://inside1:9093", [("ADDRESSES_REWRITTEN", 1)]),
        ("A://inside1:9092,B://BROKER1:9092", []),
        ("A://broker1:0", []),
        ("A://:9092", []),
        ("", []),
    ],
)
def test_the_own_configs_of_a_node(own: str, codes: list[tuple[str, int]]) -> None:
    row = advertised(1, connections=(connection(1, advertised=own),))
    assert codes_of(check_own_configs(listener(row))) == codes


def test_whether_a_node_responds_at_its_address() -> None:
    assert answers_for(advertised(1, 2, 1))
    assert not answers_for(advertised(1, 2))
    assert not answers_for(seed(1))
