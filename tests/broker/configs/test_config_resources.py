"""Config resources: rights to read and change their configs."""

from __future__ import annotations

import pytest

from signalbox.broker.configs.config_resources import rejection
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error
from signalbox.security.acl import AclOperation
from tests.broker.handler_requests import ALLOW_ALL, acl, context

NO_ACLS = acl()


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
    rejected = rejection(NO_ACLS, context(), AclOperation.ALTER_CONFIGS, resource_type, "x")
    assert rejected is not None
    assert rejected[0] is error
    allowed = rejection(ALLOW_ALL, context(), AclOperation.ALTER_CONFIGS, resource_type, "x")
    assert (allowed is None) == (error is not Error.INVALID_REQUEST)


def test_altering_lets_one_look() -> None:
    authorizer = acl(("alice", "ALTER_CONFIGS", "t"), ("bob", "DESCRIBE_CONFIGS", "t"))
    assert rejection(authorizer, context(), AclOperation.DESCRIBE_CONFIGS, ConfigResourceType.TOPIC, "t") is None
    assert rejection(authorizer, context("bob"), AclOperation.ALTER_CONFIGS, ConfigResourceType.TOPIC, "t") is not None
