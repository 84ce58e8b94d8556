from __future__ import annotations

import pytest

from signalbox.doctor.compare import compare, latest
from signalbox.doctor.observations import ClusterView
from tests.doctor.samples import advertised, codes_of, examination, listener, seed

pytestmark = pytest.mark.spec("R8")

BEFORE = examination(listener(seed(1), advertised(1, 1), advertised(2, 2)))


def test_nothing_has_changed() -> None:
    assert compare(BEFORE, BEFORE) == []


def test_another_address_of_a_node() -> None:
    now = examination(listener(seed(1), advertised(1, 1, host="new"), advertised(2, 2)))
    (finding,) = compare(BEFORE, now)
    assert (finding.code, finding.node_id, finding.value) == ("ADDRESS_CHANGED", 1, "new:9092")
    assert finding.text == "node 1 is at new:9092, it was at broker1:9092"


def test_another_node_at_an_address() -> None:
    now = examination(listener(seed(1), advertised(1, 1), advertised(2, 1)))
    assert codes_of(compare(BEFORE, now)) == [("ROUTE_CHANGED", 2)]


def test_nodes_and_clusters() -> None:
    more = examination(listener(seed(1), advertised(1, 1), advertised(3, 3)))
    (finding,) = compare(BEFORE, more)
    assert (finding.code, finding.text) == ("NODES_CHANGED", "added: 3; removed: 2")
    other = ClusterView(cluster_id="cluster-B", brokers={"1": "x:1"})
    assert codes_of(compare(BEFORE, examination(listener(view=other)))) == [("CLUSTER_CHANGED", -1)]


def test_entries_are_matched_by_text_then_by_position() -> None:
    moved = examination(listener(seed(1), advertised(1, 1, host="new"), bootstrap="elsewhere:1"))
    assert codes_of(compare(BEFORE, moved))[0] == ("ADDRESS_CHANGED", 1)
    two = examination(listener(bootstrap="a:1"), listener(bootstrap="b:1"))
    assert compare(BEFORE, two) == []


def test_a_run_without_metadata_is_not_compared() -> None:
    assert compare(BEFORE, examination(listener(view=ClusterView()))) == []


def test_an_outage_between_two_rounds_hides_no_change() -> None:
    outage = examination(listener(view=ClusterView()))
    moved = examination(listener(seed(1), advertised(1, 1, host="new"), advertised(2, 2)))
    assert latest(None, outage) == outage
    kept = latest(BEFORE, outage)
    assert kept.listeners == BEFORE.listeners
    assert codes_of(compare(kept, moved)) == [("ADDRESS_CHANGED", 1)]
    assert latest(kept, moved) == moved


def test_only_the_entry_without_metadata_keeps_its_round() -> None:
    two = examination(listener(advertised(1, 1), bootstrap="a:1"), listener(advertised(1, 1), bootstrap="b:1"))
    now = examination(listener(view=ClusterView(), bootstrap="a:1"), listener(advertised(2, 2), bootstrap="b:1"))
    assert latest(two, now).listeners == (two.listeners[0], now.listeners[1])
