from __future__ import annotations

import pytest

from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer, parse_super_users
from tests.security.test_acl_authorizer import context


def test_without_an_authorizer_everything_is_allowed() -> None:
    authorizer = AllowAllAuthorizer()
    assert authorizer.authorize(context(), AclOperation.ALTER, ResourceType.CLUSTER, "kafka-cluster")
    assert authorizer.authorize_any(context(), AclOperation.WRITE, ResourceType.TOPIC)
    assert authorizer.stamp == 0


def test_super_users_are_separated_by_semicolons() -> None:
    users = parse_super_users(" User:admin; User:CN=broker,O=x ;;Group:ops ")
    assert {str(user) for user in users} == {"User:admin", "User:CN=broker,O=x", "Group:ops"}
    assert parse_super_users("") == frozenset()


@pytest.mark.parametrize("text", ["admin", "User:", ":admin", "User:a;b"])
def test_what_is_no_principal(text: str) -> None:
    with pytest.raises(ValueError, match="Type:name"):
        parse_super_users(text)
