"""ListConfigResources: resources that have configs, by type (KIP-1142)."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.configs.list_config_resources import ListConfigResourcesHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.broker.handler_requests import ALLOW_ALL, LoadedConfigs, acl, cache_of, request_of, response_to

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


STORED = LoadedConfigs(
    {
        "client-metrics/slow%20ones": {"interval.ms": "100"},
        "client-metrics/b": {},
        "groups/app%2F1": {"consumer.session.timeout.ms": "50000"},
        "users/u": {},
        "topics/t": {},
    }
)


def ask(*types: int, version: int = 1, authorizer: Any = ALLOW_ALL) -> Any:
    handler = ListConfigResourcesHandler(STORED, cache_of(topics={"t": {0: (1, [1])}}), authorizer)
    return response_to(handler, request_of(ListConfigResourcesRequest(resource_types=list(types)), version))


def named(response: Any) -> list[tuple[int, str]]:
    assert response.error_code == Error.NONE
    return [(each.resource_type, each.resource_name) for each in response.config_resources]


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ([METRICS], [(16, "b"), (16, "slow ones")]),
        ([BROKER], [(4, "1"), (4, "2")]),  # broker 3 lacks the request's listener
        ([LOGGER, TOPIC], [(8, "1"), (8, "2"), (2, "t")]),
        ([GROUP], [(32, "app/1")]),
        ([], [(32, "app/1"), (16, "b"), (16, "slow ones"), (8, "1"), (8, "2"), (4, "1"), (4, "2"), (2, "t")]),
    ],
)
def test_by_type(types: list[int], found: list[tuple[int, str]]) -> None:
    assert named(ask(*types)) == found


def test_the_first_version_knows_client_metrics_alone() -> None:
    assert named(ask(version=0)) == [(16, "b"), (16, "slow ones")]


def test_a_type_that_is_none() -> None:
    rejected = ask(TOPIC, 64)
    assert (rejected.error_code, rejected.config_resources) == (Error.UNSUPPORTED_VERSION, [])


@pytest.mark.parametrize("version", [0, 1])
def test_describe_configs_on_the_cluster_is_needed(version: int) -> None:
    rejected = ask(version=version, authorizer=acl(("alice", "DESCRIBE_CONFIGS", "t")))
    assert (rejected.error_code, rejected.config_resources) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])
