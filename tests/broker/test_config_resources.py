"""Config resources: who may read or change whose configs."""

from __future__ import annotations

import pytest

from signalbox.broker.config_resources import ConfigResourceType, refusal
from signalbox.protocol.error_table import Error
from signalbox.security.acl import AclOperation
from tests.broker.asking import ALLOW_ALL, acl, context

NOBODY = acl()


@pytest.mark.parametrize(
    ("resource_type", "error"),
    [
        (ConfigResourceType.TOPIC, Error.TOPIC_AUTHORIZATION_FAILED),
        (ConfigResourceType.GROUP, Error.GROUP_AUTHORIZATION_FAILED),
        (ConfigResourceType.BROKER, Error.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResourceType.BROKER_LOGGER, Error.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResourceType.CLIENT_METRICS, Error.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResourceType.UNKNOWN, Error.INVALID_REQUEST),
        (77, Error.INVALID_REQUEST),
    ],
)
def test_the_error_of_each_type(resource_type: int, error: Error) -> None:
    refused = refusal(NOBODY, context(), AclOperation.ALTER_CONFIGS, resource_type, "x")
    assert refused is not None
    assert refused[0] is error
    allowed = refusal(ALLOW_ALL, context(), AclOperation.ALTER_CONFIGS, resource_type, "x")
    assert (allowed is None) == (error is not Error.INVALID_REQUEST)


def test_altering_lets_one_look() -> None:
    authorizer = acl(("alice", "ALTER_CONFIGS", "t"), ("bob", "DESCRIBE_CONFIGS", "t"))
    assert refusal(authorizer, context(), AclOperation.DESCRIBE_CONFIGS, ConfigResourceType.TOPIC, "t") is None
    assert refusal(authorizer, context("bob"), AclOperation.ALTER_CONFIGS, ConfigResourceType.TOPIC, "t") is not None
