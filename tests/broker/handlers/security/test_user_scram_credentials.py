"""SCRAM users at a real controller: described credentials, changes, and the required rights."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.security.user_scram_credentials import (
    AlterUserScramCredentialsHandler,
    DescribeUserScramCredentialsHandler,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.broker.handler_requests import ALLOW_ALL, LoadedConfigs, acl, request_of, response_to
from tests.broker.handlers.running_broker import RunningBroker

SHA_256, SHA_512 = 1, 2


def put(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
    )


def drop(user: str, mechanism: int = SHA_256) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(
    running_broker: RunningBroker, *upsertions: Any, deletions: Any = (), authorizer: Any = ALLOW_ALL
) -> dict[str, int]:
    handler = AlterUserScramCredentialsHandler(running_broker.components.controller, authorizer)
    asked = AlterUserScramCredentialsRequest(deletions=list(deletions), upsertions=list(upsertions))
    return {row.user: row.error_code for row in running_broker.answer(handler, request_of(asked, 0)).results}


def describe(running_broker: RunningBroker, *users: str, every: bool = False, authorizer: Any = ALLOW_ALL) -> Any:
    handler = DescribeUserScramCredentialsHandler(running_broker.components.context.repository, authorizer)
    names = [DescribeUserScramCredentialsRequest.UserName(name=user) for user in users]
    return running_broker.answer(
        handler, request_of(DescribeUserScramCredentialsRequest(users=None if every else names), 0)
    )


def described(response: Any) -> dict[str, Any]:
    """Mechanisms with their iterations by user, or the error for that user."""
    return {
        row.user: row.error_code or {info.mechanism: info.iterations for info in row.credential_infos}
        for row in response.results
    }


def test_create_describe_and_delete(running_broker: RunningBroker) -> None:
    assert alter(running_broker, put("alice"), put("alice", SHA_512, 8192), put("bob")) == {"alice": 0, "bob": 0}
    assert described(describe(running_broker, "alice")) == {"alice": {SHA_256: 4096, SHA_512: 8192}}
    assert alter(running_broker, deletions=[drop("alice"), drop("bob")]) == {"alice": 0, "bob": 0}
    assert described(describe(running_broker, "alice", "bob")) == {
        "alice": {SHA_512: 8192},
        "bob": Error.RESOURCE_NOT_FOUND,
    }
    assert alter(running_broker, deletions=[drop("alice", SHA_512)]) == {"alice": 0}


@pytest.mark.parametrize("every", [True, False], ids=["null", "none named"])
def test_everybody(running_broker: RunningBroker, every: bool) -> None:
    alter(running_broker, put("zoe"), put("CN=x,O=y"))
    found = described(describe(running_broker, every=every))
    assert found == {"CN=x,O=y": {SHA_256: 4096}, "zoe": {SHA_256: 4096}}
    assert list(found) == sorted(found)
    alter(running_broker, deletions=[drop("zoe"), drop("CN=x,O=y")])
    assert described(describe(running_broker, every=every)) == {}


def test_each_user_has_its_own_error(running_broker: RunningBroker) -> None:
    alter(running_broker, put("carl"))
    found = described(describe(running_broker, "", "carl", "unknown", "twice", "twice"))
    assert found == {
        "": Error.RESOURCE_NOT_FOUND,
        "carl": {SHA_256: 4096},
        "unknown": Error.RESOURCE_NOT_FOUND,
        "twice": Error.DUPLICATE_RESOURCE,
    }
    assert alter(running_broker, put("u", 7), deletions=[drop("carl")]) == {
        "carl": 0,
        "u": Error.UNSUPPORTED_SASL_MECHANISM,
    }


def test_a_corrupt_credential_is_an_error_that_does_not_contain_it() -> None:
    corrupt = LoadedConfigs(
        {"users/dora": {"SCRAM-SHA-256": "salt=c2VjcmV0"}, "users/quota": {"consumer_byte_rate": "1"}}
    )
    handler = DescribeUserScramCredentialsHandler(corrupt, ALLOW_ALL)
    response = response_to(handler, request_of(DescribeUserScramCredentialsRequest(users=None), 0))
    assert described(response) == {"dora": Error.UNKNOWN_SERVER_ERROR}
    assert "c2VjcmV0" not in response.results[0].error_message


def test_the_rights_on_the_cluster(running_broker: RunningBroker) -> None:
    """DESCRIBE to read, ALTER to change."""
    describes, alters = acl(("alice", "DESCRIBE", "cluster")), acl(("alice", "ALTER", "cluster"))
    not_authorized = acl(("bob", "ALL", "cluster"))
    assert describe(running_broker, "x", authorizer=describes).error_code == 0
    assert describe(running_broker, "x", authorizer=not_authorized).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
    rejected = alter(running_broker, put("a"), deletions=[drop("b")], authorizer=describes)
    assert rejected == {"a": Error.CLUSTER_AUTHORIZATION_FAILED, "b": Error.CLUSTER_AUTHORIZATION_FAILED}
    assert alter(running_broker, put("eve"), authorizer=alters) == {"eve": 0}
    alter(running_broker, deletions=[drop("eve")])
