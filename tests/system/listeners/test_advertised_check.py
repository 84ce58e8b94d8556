"""The check of advertised addresses in broker processes, with the switchboard between the addresses and the brokers:
the log, the pages, the metrics and the audit trail (R9)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from signalbox.common.audit_event import AUDIT_TOPIC, AuditKind
from tests.server.advertised.lined_cluster import read_page
from tests.system.clusters import RoutedCluster, line_of, metric, routed_cluster
from tests.waiting import until

pytestmark = pytest.mark.spec("R9")

_STATE = "signalbox_server_advertisedaddresses_state"
_CHECK = {"signalbox.advertised.check": "refuse", "signalbox.advertised.check.interval.ms": "500"}
_WRONG = "Advertised address leads to another node (listener=ROUTED, broker=1"


@pytest.fixture
def checked(tmp_path: Path) -> Iterator[RoutedCluster]:
    with routed_cluster(tmp_path, _CHECK) as running:
        yield running


def ready(cluster: RoutedCluster, node_id: int) -> tuple[int, str]:
    """(HTTP status, reasons)."""
    return read_page(str(cluster.brokers[node_id].ready["metrics"]), "ready")


def is_ready(cluster: RoutedCluster, node_id: int) -> bool:
    """Whether a broker is ready, and has verified its address."""
    return ready(cluster, node_id)[0] == 200 and state(cluster, node_id, found_by=node_id) == 0


def state(cluster: RoutedCluster, of: int, *, found_by: int) -> float:
    return metric(cluster, found_by, _STATE, broker_id=str(of), listener="ROUTED")


def audited(cluster: RoutedCluster, broker_id: int) -> list[str]:
    """The beginnings of the reasons in the audit trail about broker 1's address, as a broker has recorded them."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "none", "enable.auto.commit": False})
    partitions = consumer.list_topics(AUDIT_TOPIC, timeout=30).topics[AUDIT_TOPIC].partitions
    found = []
    for partition in partitions:
        place = TopicPartition(AUDIT_TOPIC, partition, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        while end > 0:
            (message,) = consumer.consume(1, timeout=30)
            event = json.loads(message.value() or b"")
            own = event["target_node"] == 1 and event["listener"] == "ROUTED" and event["broker_id"] == broker_id
            if event["kind"] == AuditKind.ADVERTISED_ADDRESS and own:
                found.append(event["reason"].partition(":")[0])
            if (message.offset() or 0) + 1 >= end:
                break
    consumer.close()
    return found


def test_two_exchanged_addresses_are_found_and_so_is_the_mended_route(checked: RoutedCluster) -> None:
    for node_id in (1, 2, 3):
        until(partial(is_ready, checked, node_id), f"broker {node_id} is ready")
    log = checked.brokers[1].log_file
    assert _WRONG not in log.read_text()

    checked.switchboard.swap(line_of(1), line_of(2))
    until(lambda: ready(checked, 1)[0] == 503, "broker 1 is not ready")
    until(lambda: ready(checked, 2)[0] == 503, "broker 2 is not ready")
    assert "of listener ROUTED leads to another node" in ready(checked, 1)[1]
    assert ready(checked, 3) == (200, "ready\n")
    until(lambda: state(checked, 1, found_by=3) == 2, "broker 3 has found it too")
    assert (state(checked, 1, found_by=1), state(checked, 3, found_by=1)) == (2, 0)
    assert _WRONG in log.read_text()
    assert read_page(str(checked.brokers[1].ready["metrics"]), "health")[0] == 200

    checked.switchboard.restore()
    for node_id in (1, 2):
        until(partial(is_ready, checked, node_id), f"broker {node_id} is ready again")
    until(lambda: state(checked, 1, found_by=3) == 0, "broker 3 has verified it")
    until(lambda: audited(checked, 1)[-2:] == ["wrong", "verified"], "both are in the audit trail")
