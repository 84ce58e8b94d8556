"""Each value of Java's properties is one that librdkafka accepts, or its key is named."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from signalbox.pipeline.client.librdkafka_settings import ClientPropertyError, librdkafka_settings

pytestmark = pytest.mark.spec("P9")


def taken(java: dict[str, str]) -> dict[str, str]:
    """The settings, after librdkafka has made a consumer of them."""
    settings = librdkafka_settings(java)
    Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", **settings}).close()
    return settings


@pytest.mark.parametrize(
    ("java", "expected"),
    [
        ({"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": "0"}),
        ({"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": "0"}),
        ({"receive.buffer.bytes": "2147483647"}, {"socket.receive.buffer.bytes": "100000000"}),
        ({"connections.max.idle.ms": "-1"}, {"connections.max.idle.ms": "0"}),
        ({"connections.max.idle.ms": "9223372036854775807"}, {"connections.max.idle.ms": "2147483647"}),
        ({"client.dns.lookup": "default"}, {}),
        ({"client.dns.lookup": "use_all_dns_ips"}, {"client.dns.lookup": "use_all_dns_ips"}),
        ({"request.timeout.ms": "600000"}, {"socket.timeout.ms": "300000"}),
        ({"socket.connection.setup.timeout.ms": "10"}, {"socket.connection.setup.timeout.ms": "1000"}),
        ({"retry.backoff.ms": "0"}, {"retry.backoff.ms": "1"}),
        ({"retry.backoff.max.ms": "900000"}, {"retry.backoff.max.ms": "300000"}),
        ({"metadata.max.age.ms": "9223372036854775807"}, {"metadata.max.age.ms": "86400000"}),
        ({"fetch.min.bytes": "0"}, {"fetch.min.bytes": "1"}),
        ({"fetch.max.bytes": "1000"}, {"fetch.max.bytes": "1000000"}),
        ({"fetch.max.bytes": "2147483647"}, {"fetch.max.bytes": "2147483135"}),
        ({"fetch.max.wait.ms": " 400000 "}, {"fetch.wait.max.ms": "300000"}),
        ({"max.partition.fetch.bytes": "2147483647"}, {"max.partition.fetch.bytes": "1000000000"}),
        ({"reconnect.backoff.ms": "20000"}, {"reconnect.backoff.ms": "20000", "reconnect.backoff.max.ms": "20000"}),
        ({"reconnect.backoff.max.ms": "50"}, {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "50"}),
        (
            {"reconnect.backoff.ms": "500", "reconnect.backoff.max.ms": "100"},
            {"reconnect.backoff.ms": "500", "reconnect.backoff.max.ms": "500"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
    ],
)
def test_a_value_of_java_becomes_the_nearest_of_librdkafka(java: dict[str, str], expected: dict[str, str]) -> None:
    assert taken(java) == expected


@pytest.mark.parametrize(
    "java",
    [
        {"fetch.max.bytes": "much"},
        {"client.dns.lookup": "any"},
        {"metadata.recovery.strategy": "hope"},
        {"check.crcs": "maybe"},
        {"ssl.endpoint.identification.algorithm": "LDAPS"},
        {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256", "security.protocol": "SSL"},
        {"ssl.enabled.protocols": "TLSv1.1", "security.protocol": "SSL"},
    ],
)
def test_a_value_without_a_counterpart_is_named_with_its_key(java: dict[str, str]) -> None:
    with pytest.raises(ClientPropertyError, match=f"^{next(iter(java))} "):
        librdkafka_settings(java)


def test_suites_and_protocols_of_both_versions_of_tls_are_accepted() -> None:
    both = "TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
    java = {"security.protocol": "SSL", "ssl.cipher.suites": both, "ssl.enabled.protocols": "TLSv1.3"}
    assert taken(java) == {"security.protocol": "SSL", "ssl.cipher.suites": both}
