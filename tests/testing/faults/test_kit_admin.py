"""The kit's own requests to brokers."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from signalbox.testing.faults.fault import address_line, lines_with
from signalbox.testing.faults.kit_admin import kit_admin, note_topic_id
from signalbox.testing.free_ports import free_ports
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_line import LineTls
from signalbox.testing.wire.request_rule import LineRules

pytestmark = pytest.mark.spec("R7")


def noted(kit_bootstrap: str, topic: str, *, tls: bool = True) -> list[str]:
    """The topics whose ids a line has."""

    async def run() -> list[str]:
        async with Switchboard() as board:
            board.kit_bootstrap = kit_bootstrap
            rules = LineRules()
            await board.add_line(address_line(1), rules=rules)
            if tls:
                contexts = LineTls(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
                board.line(address_line(1)).tls = contexts
            await note_topic_id(board, topic, lines_with(board, None))
            return list(rules.topic_names.values())

    return asyncio.run(run())


@pytest.mark.kafka_cluster(brokers=1)
def test_a_line_in_front_of_tls_gets_the_ids_of_topics(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    kit = kafka_cluster._kit_addresses()
    assert noted(kit, kafka_topic) == [kafka_topic]
    assert noted(kit, "not-there") == []
    assert noted(kit, kafka_topic, tls=False) == []


def test_without_brokers_no_id_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted("", "orders") == []
    monkeypatch.setattr("signalbox.testing.faults.kit_admin._LOOKUP_MS", 50.0)
    assert noted(f"127.0.0.1:{free_ports(1)[0]}", "orders") == []


def test_requests_need_the_addresses_of_brokers() -> None:
    async def run() -> None:
        async with Switchboard() as board, kit_admin(board):
            pass

    with pytest.raises(ValueError, match="the switchboard has no address of theirs"):
        asyncio.run(run())
