"""The options of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions

pytestmark = pytest.mark.spec("R7")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"brokers": 0}, "at least one broker, not 0"),
        ({"security": "TLS"}, "security is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'TLS'"),
        ({"mechanism": "GSSAPI"}, "mechanism is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, not 'GSSAPI'"),
        ({"authorize": True, "security": "SSL"}, "authorize and acls need users"),
        ({"acls": {"alice": ["READ t"]}}, "authorize and acls need users"),
        ({"security": "SASL_SSL", "acls": {"eve": ["READ t"]}}, "acls are for users of the cluster, not for eve"),
        ({"security": "SASL_SSL", "acls": {"alice": ["MAY t"]}}, "'MAY' is no operation"),
        ({"security": "SASL_SSL", "users": {}}, "SASL needs at least one user"),
        ({"security": "SASL_SSL", "users": {"eve": 'a"b'}}, "the password of eve has a quote"),
        ({"broker": 3, "topic": "t"}, "not broker, topic"),
    ],
)
def test_what_cannot_be_is_an_error_at_once(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterOptions.of(values)


@pytest.mark.parametrize(
    ("security", "tls", "sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_protocols(security: str, tls: bool, sasl: bool) -> None:
    options = ClusterOptions(security=security)
    assert (options.has_tls, options.has_sasl) == (tls, sasl)


def test_the_key_depends_on_every_option_and_not_on_their_order() -> None:
    base = ClusterOptions(topics={"a": 1, "b": 2})
    assert base.key == ClusterOptions(topics={"b": 2, "a": 1}).key
    others: list[dict[str, Any]] = [
        {"brokers": 1}, {"security": "SSL"}, {"mechanism": "PLAIN"}, {"users": {"bob": "b"}}, {"topics": {"a": 1}},
        {"overrides": {"a": "b"}}, {"processes": True}, {"security": "SASL_SSL", "authorize": True},
        {"security": "SASL_SSL", "acls": {"alice": ["READ t"]}},
        {"security": "SASL_SSL", "acls": {"alice": ["READ u"]}},
    ]  # fmt: skip
    assert len({base.key, *(ClusterOptions.of(each).key for each in others)}) == 11


def test_more_listeners_of_clients() -> None:
    options = ClusterOptions(listeners={"EXTERNAL": "SASL_SSL"})
    assert options.protocols == {"CLIENT": "PLAINTEXT", "EXTERNAL": "SASL_SSL"}
    assert (options.has_tls, options.has_sasl) == (True, True)
    with pytest.raises(ValueError, match="a listener KIT already"):
        ClusterOptions(listeners={"KIT": "PLAINTEXT"})
    with pytest.raises(ValueError, match="not 'TLS'"):
        ClusterOptions(listeners={"EXTERNAL": "TLS"})
