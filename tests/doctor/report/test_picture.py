from __future__ import annotations

import pytest

from signalbox.common.ids import Grade
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import Fault, ListenerObservation
from signalbox.doctor.report.picture import picture
from tests.doctor.samples import advertised, connection, examination, failed, listener, seed

pytestmark = pytest.mark.spec("R8")


def drawn(rows: ListenerObservation) -> list[tuple[str, str, str, str, bool]]:
    arrows = picture(rows, find(examination(rows)))
    return [(arrow.address, arrow.role, arrow.ip, arrow.node, arrow.wrong) for arrow in arrows]


def test_names_addresses_nodes_and_the_wrong_ones() -> None:
    rows = listener(seed(1, 2, 1), advertised(2, 3, ip="10.0.0.2"), advertised(3, 3, ip="10.0.0.3", bootstrap=True))
    assert drawn(rows) == [
        ("kafka:9092", "bootstrap", "10.0.0.9", "node 1", False),
        ("kafka:9092", "bootstrap", "10.0.0.9", "node 2", False),
        ("broker2:9092", "node 2", "10.0.0.2", "node 3", True),
        ("broker3:9092", "node 3 (bootstrap)", "10.0.0.3", "node 3", False),
    ]
    first = picture(rows, [])[0]
    assert (first.count, first.total, first.detail) == (2, 3, "proof A")


def test_paths_that_end_before_a_node() -> None:
    rows = (
        advertised(1, connections=(failed(Fault.CONNECTION_REFUSED),)),
        advertised(2, ips=(), connections=(), resolve_text="unknown"),
        advertised(3, connections=(connection(grade=Grade.REJECTED),)),
        advertised(4, connections=(connection(7, cluster_id="cluster-B"),)),
        advertised(5, ips=(), connections=(), examined=False),
    )
    arrows = picture(listener(*rows), [])
    assert [(arrow.node, arrow.detail) for arrow in arrows] == [
        ("nothing", "connection-refused (tcp)"),
        ("nothing", "unknown"),
        ("unknown node", "rejects the expected identity"),
        ("node 7 of cluster cluster-B", "proof A"),
        ("nothing", "no time"),
    ]
