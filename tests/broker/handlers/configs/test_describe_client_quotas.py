"""DescribeClientQuotas returns stored quotas as Kafka's brokers do under ZooKeeper (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from signalbox.broker.handlers.configs.describe_client_quotas import DescribeClientQuotasHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.broker.handler_requests import ALLOW_ALL, LoadedConfigs, acl, request_of, response_to

EXACT, DEFAULT, ANY = 0, 1, 2
RATE = {"producer_byte_rate": "1024", "SCRAM-SHA-256": "secret"}
ENTITIES = {
    "users/a": RATE,
    "users/<default>": RATE,
    "users/a/clients/c": RATE,
    "users/a/clients/<default>": RATE,
    "clients/c": RATE,
    "clients/<default>": RATE,
    "ips/10.0.0.1": {"connection_creation_rate": "5"},
    "users/no-quota": {"SCRAM-SHA-256": "secret"},
    "topics/t": {"retention.ms": "1"},
}


def describe(
    *components: tuple[str, int, str | None],
    strict: bool = False,
    version: int = 1,
    authorizer: Any = ALLOW_ALL,
    entities: Mapping[str, Mapping[str, str]] = ENTITIES,
) -> Any:
    made = DescribeClientQuotasRequest
    asked = [made.ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    handler = DescribeClientQuotasHandler(LoadedConfigs(entities), authorizer)
    return response_to(handler, request_of(made(components=asked, strict=strict), version))


def described(response: Any) -> list[str]:
    """Entities as `user=a client-id=*`."""
    return [
        " ".join(f"{part.entity_type}={'*' if part.entity_name is None else part.entity_name}" for part in entry.entity)
        for entry in response.entries
    ]


A, U, UC, AC, C, X, IP = (
    "user=a", "user=*", "user=a client-id=*", "user=a client-id=c", "client-id=c", "client-id=*", "ip=10.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("components", "strict", "meant"),
    [
        ([], False, [A, U, AC, UC, C, X, IP]),
        ([], True, []),
        ([("user", EXACT, "a")], False, [A, AC, UC]),
        ([("user", EXACT, "a")], True, [A]),
        ([("user", DEFAULT, None)], False, [U]),
        ([("user", ANY, None)], True, [A, U]),
        ([("user", EXACT, "a"), ("client-id", ANY, None)], True, [AC, UC]),
        ([("client-id", EXACT, "c")], False, [AC, C]),
        ([("client-id", DEFAULT, None)], True, [X]),
        ([("ip", ANY, None)], True, [IP]),
        ([("ip", EXACT, "10.0.0.2")], False, []),
        ([("user", EXACT, "unknown")], False, []),
    ],
)
def test_which_are_meant(components: Any, strict: bool, meant: list[str], version: int) -> None:
    response = describe(*components, strict=strict, version=version)
    assert response.error_code == 0
    assert described(response) == meant


def test_only_quotas_are_returned() -> None:
    [entry] = describe(("user", EXACT, "a"), strict=True).entries
    assert [(value.key, value.value) for value in entry.values] == [("producer_byte_rate", 1024.0)]


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", ANY, None)], Error.INVALID_REQUEST),
        ([("team", ANY, None)], Error.UNSUPPORTED_VERSION),
        ([("user", ANY, None), ("user", EXACT, "a")], Error.INVALID_REQUEST),
        ([("user", 3, None)], Error.INVALID_REQUEST),
        ([("ip", ANY, None), ("client-id", ANY, None)], Error.INVALID_REQUEST),
    ],
)
def test_filters_that_mean_nothing(components: Any, error: Error) -> None:
    response = describe(*components)
    assert (response.error_code, response.entries) == (error, None)


def test_what_is_stored_and_no_quota_is_named() -> None:
    response = describe(entities={"clients/c": {"request_percentage": "many"}})
    assert response.error_code == Error.UNKNOWN_SERVER_ERROR
    assert "clients/c" in response.error_message


def test_needs_describe_configs_on_the_cluster() -> None:
    assert describe(authorizer=acl(("alice", "DESCRIBE_CONFIGS", "cluster"))).error_code == 0
    rejected = describe(authorizer=acl(("alice", "DESCRIBE", "cluster")))
    assert (rejected.error_code, rejected.entries) == (Error.CLUSTER_AUTHORIZATION_FAILED, None)
