"""SCRAM users at a real controller: described credentials, changes, and the required rights."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.user_scram_credentials import (
    AlterUserScramCredentialsHandler,
    DescribeUserScramCredentialsHandler,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from signalbox.wiring.stored_users import CurrentConfigs
from tests.broker.asking import ALLOW_ALL, acl, answer_to, request_of
from tests.broker.handlers.house import House

SHA_256, SHA_512 = 1, 2


def put(user: str, mechanism: int = SHA_256, iterations: int = 4096) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
    )


def drop(user: str, mechanism: int = SHA_256) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(house: House, *upsertions: Any, deletions: Any = (), authorizer: Any = ALLOW_ALL) -> dict[str, int]:
    handler = AlterUserScramCredentialsHandler(house.components.controller, authorizer)
    asked = AlterUserScramCredentialsRequest(deletions=list(deletions), upsertions=list(upsertions))
    return {row.user: row.error_code for row in house.answer(handler, request_of(asked, 0)).results}


def describe(house: House, *users: str, every: bool = False, authorizer: Any = ALLOW_ALL) -> Any:
    handler = DescribeUserScramCredentialsHandler(CurrentConfigs(house.components.context.repository), authorizer)
    names = [DescribeUserScramCredentialsRequest.UserName(name=user) for user in users]
    return house.answer(handler, request_of(DescribeUserScramCredentialsRequest(users=None if every else names), 0))


def told(response: Any) -> dict[str, Any]:
    """Mechanisms with their iterations by user, or the error for that user."""
    return {
        row.user: row.error_code or {info.mechanism: info.iterations for info in row.credential_infos}
        for row in response.results
    }


def test_made_told_and_removed(house: House) -> None:
    assert alter(house, put("alice"), put("alice", SHA_512, 8192), put("bob")) == {"alice": 0, "bob": 0}
    assert told(describe(house, "alice")) == {"alice": {SHA_256: 4096, SHA_512: 8192}}
    assert alter(house, deletions=[drop("alice"), drop("bob")]) == {"alice": 0, "bob": 0}
    assert told(describe(house, "alice", "bob")) == {"alice": {SHA_512: 8192}, "bob": Error.RESOURCE_NOT_FOUND}
    assert alter(house, deletions=[drop("alice", SHA_512)]) == {"alice": 0}


@pytest.mark.parametrize("every", [True, False], ids=["null", "none named"])
def test_everybody(house: House, every: bool) -> None:
    alter(house, put("zoe"), put("CN=x,O=y"))
    found = told(describe(house, every=every))
    assert found == {"CN=x,O=y": {SHA_256: 4096}, "zoe": {SHA_256: 4096}}
    assert list(found) == sorted(found)
    alter(house, deletions=[drop("zoe"), drop("CN=x,O=y")])
    assert told(describe(house, every=every)) == {}


def test_each_user_has_its_own_error(house: House) -> None:
    alter(house, put("carl"))
    found = told(describe(house, "", "carl", "nobody", "twice", "twice"))
    assert found == {
        "": Error.RESOURCE_NOT_FOUND,
        "carl": {SHA_256: 4096},
        "nobody": Error.RESOURCE_NOT_FOUND,
        "twice": Error.DUPLICATE_RESOURCE,
    }
    assert alter(house, put("u", 7), deletions=[drop("carl")]) == {"carl": 0, "u": Error.UNSUPPORTED_SASL_MECHANISM}


def test_what_is_damaged_says_so_without_showing_it() -> None:
    class Damaged:
        async def current(self) -> dict[str, dict[str, str]]:
            return {"users/dora": {"SCRAM-SHA-256": "salt=c2VjcmV0"}, "users/quota": {"consumer_byte_rate": "1"}}

    handler = DescribeUserScramCredentialsHandler(Damaged(), ALLOW_ALL)
    response = answer_to(handler, request_of(DescribeUserScramCredentialsRequest(users=None), 0))
    assert told(response) == {"dora": Error.UNKNOWN_SERVER_ERROR}
    assert "c2VjcmV0" not in response.results[0].error_message


def test_the_rights_on_the_cluster(house: House) -> None:
    """DESCRIBE to read, ALTER to change."""
    describes, alters = acl(("alice", "DESCRIBE", "cluster")), acl(("alice", "ALTER", "cluster"))
    nobody = acl(("bob", "ALL", "cluster"))
    assert describe(house, "x", authorizer=describes).error_code == 0
    assert describe(house, "x", authorizer=nobody).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
    rejected = alter(house, put("a"), deletions=[drop("b")], authorizer=describes)
    assert rejected == {"a": Error.CLUSTER_AUTHORIZATION_FAILED, "b": Error.CLUSTER_AUTHORIZATION_FAILED}
    assert alter(house, put("eve"), authorizer=alters) == {"eve": 0}
    alter(house, deletions=[drop("eve")])
