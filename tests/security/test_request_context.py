from __future__ import annotations

from signalbox.common.endpoint import SecurityProtocol
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext


def test_a_forwarded_request_keeps_the_hop_beside_the_original() -> None:
    broker, alice = KafkaPrincipal("User", "broker-2"), KafkaPrincipal("User", "alice")
    hop = RequestContext(
        "conn",
        "REPLICATION",
        SecurityProtocol.SASL_PLAINTEXT,
        "10.0.0.2",
        b"\x0a\0\0\2",
        principal=broker,
        privileged=True,
        inter_broker=True,
    )
    inner = hop.forwarded(alice, "192.168.1.9", bytes([192, 168, 1, 9]), 30)
    assert (inner.principal, inner.forwarding_principal) == (alice, broker)
    assert (inner.client_address, inner.client_address_bytes) == ("192.168.1.9", bytes([192, 168, 1, 9]))
    assert (inner.listener_name, inner.connection_id, inner.privileged) == ("REPLICATION", "conn", True)
    assert hop.forwarding_principal is None
    assert (inner.request_type, hop.request_type) == (30, -1)


def test_client_software() -> None:
    context = RequestContext("conn", "CLIENT", SecurityProtocol.PLAINTEXT, "10.0.0.7", b"\x0a\0\0\7")
    assert context.client_software == ""
    context.client_software_name, context.client_software_version = "librdkafka", "2.16.1"
    assert context.client_software == "librdkafka/2.16.1"
