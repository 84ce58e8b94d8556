"""Whether peers can follow a change of a broker's listeners, by the registrations of all brokers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.controller.brokers.listener_change import reject_listeners
from signalbox.controller.context import LiveBroker
from signalbox.protocol.error_table import KafkaError
from tests.controller.cluster import registration
from tests.controller.contexts import make_context

# Brokers register CLIENT at 9000 + id, REPLICATION at 9100 + id and CONTROL at 9200 + id of host<id>.
STANDS = "CLIENT://host1:9001,REPLICATION://host1:9101,CONTROL://host1:9201"


def rejection(
    peer: Mapping[str, str | None] | None = None, stored: Mapping[str, str] | None = None, /, **configs: str
) -> str:
    brokers = {
        1: LiveBroker(registration(1, inter_broker_listener="REPLICATION"), 100),
        2: LiveBroker(registration(2, **(peer or {"inter_broker_listener": "REPLICATION"})), 200),
    }
    context = make_context(1, 2, topics={}, brokers=brokers, configs={"brokers/2": stored or {}})
    try:
        reject_listeners(context, 1, {key.replace("_", "."): value for key, value in configs.items()})
    except KafkaError as rejected:
        return f"{rejected.error.name} {rejected.message}"
    return ""


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        ({"listeners": STANDS}, ""),
        ({"listeners": f"{STANDS},GUEST://host1:1"}, ""),
        ({"listeners": f"{STANDS},guest://HOST2:9002"}, "HOST2:9002 is an address of broker 2"),
        ({"listeners": f"{STANDS},GUEST://host2:0"}, ""),  # port 0: known only when it is bound
        (
            {"listeners": f"{STANDS},GUEST://:1", "advertised_listeners": f"{STANDS},GUEST://host2:9202"},
            "host2:9202 is an address of broker 2",
        ),
        ({"listeners": "CLIENT://host1:9001,CONTROL://host1:9201"}, "REPLICATION is the inter-broker listener"),
        ({"listeners": "CLIENT://host1:9001,REPLICATION://host1:9101"}, "CONTROL is the control plane listener"),
        ({"listeners": STANDS, "listener_security_protocol_map": "CLIENT:SSL"}, "broker 2 maps the listener CLIENT to"),
        ({"listeners": STANDS, "listener_security_protocol_map": "CLIENT:PLAINTEXT,OTHER:SSL"}, ""),
        ({"max_connections": "5"}, ""),
        ({"listeners": "nonsense"}, ""),  # the broker itself rejects it
    ],
)
def test_listeners_are_compared_with_registrations(configs: dict[str, str], reason: str) -> None:
    found = rejection(**configs)
    assert reason in found
    assert found.startswith("INVALID_REQUEST") is bool(reason)


def test_stored_listeners_of_a_peer_are_compared_before_it_registers_them() -> None:
    found = rejection(None, {"listeners": "NEW://host9:7"}, listeners=f"{STANDS},GUEST://host9:7")
    assert "host9:7 is an address of broker 2" in found


@pytest.mark.spec("L12")
def test_a_peer_that_replicates_over_another_listener_prevents_the_removal_of_that_listener() -> None:
    rest = "REPLICATION://host1:9101,CONTROL://host1:9201"
    assert "broker 2 replicates over the listener CLIENT" in rejection(
        {"inter_broker_listener": "CLIENT"}, listeners=rest
    )
    assert rejection({"inter_broker_listener": "ELSEWHERE"}, listeners=rest) == ""


def test_a_broker_that_is_down_has_only_its_addresses_compared() -> None:
    context = make_context(1, 2, topics={}, brokers={2: LiveBroker(registration(2), 200)})
    reject_listeners(context, 1, {"listeners": "CLIENT://host1:9001"})
    with pytest.raises(KafkaError, match="host2:9002"):
        reject_listeners(context, 1, {"listeners": "CLIENT://host2:9002"})
