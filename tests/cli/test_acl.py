"""`signalbox acl` with a broker that enforces ACLs, and with one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.testing.cluster import Cluster
from tests.cli.test_user import rows


@pytest.fixture(scope="module")
def guarded() -> Iterator[Cluster]:
    overrides = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with Cluster(brokers=1, overrides=overrides) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def acl(run: Any, guarded: Cluster) -> Any:
    return lambda *arguments: run("acl", *arguments, bootstrap=guarded.bootstrap_servers)


ALICE = ("--principal", "User:alice")


def test_create_list_and_delete(acl: Any) -> None:
    made = acl("create", *ALICE, "--topic", "fl", "--prefixed", "--operation", "read", "--operation", "write")
    assert made.stdout.splitlines() == [
        f"User:alice may {operation} TOPIC fl* from *: created" for operation in ("READ", "WRITE")
    ]
    assert acl("create", *ALICE, "--group", "g", "--deny", "--host", "10.0.0.1", "--operation", "ALL").exit_code == 0
    assert rows(acl("list", "--topic", "flights").stdout) == [
        ["TOPIC", "fl", "PREFIXED", "User:alice", "ALLOW", operation, "*"] for operation in ("READ", "WRITE")
    ]
    assert rows(acl("list", "--group", "g", *ALICE).stdout) == [
        ["GROUP", "g", "LITERAL", "User:alice", "DENY", "ALL", "10.0.0.1"]
    ]
    gone = acl("delete", "--topic", "fl", "--prefixed", "--operation", "READ")
    assert gone.stdout == "User:alice may READ TOPIC fl* from *: deleted\n"
    assert acl("delete", "--topic", "fl").stdout == "", "the literal name has none"
    acl("delete", "--topic", "fl", "--prefixed")
    acl("delete", "--group", "g")
    assert rows(acl("list").stdout) == []


def test_the_cluster_and_transactional_ids(acl: Any) -> None:
    assert acl("create", *ALICE, "--cluster", "--operation", "idempotent-write").exit_code == 0
    assert acl("create", *ALICE, "--transactional-id", "*", "--operation", "WRITE").exit_code == 0
    assert [row[:2] for row in rows(acl("list").stdout)] == [["CLUSTER", "kafka-cluster"], ["TRANSACTIONAL_ID", "*"]]
    acl("delete", "--cluster")
    acl("delete", "--transactional-id", "*")


def test_delegation_tokens_and_whose_they_are(acl: Any) -> None:
    assert acl("create", *ALICE, "--user-principal", "User:bob", "--operation", "create-tokens").exit_code == 0
    assert acl("create", *ALICE, "--delegation-token", "t-1", "--operation", "DESCRIBE").exit_code == 0
    assert {tuple(row[:2]) for row in rows(acl("list").stdout)} == {("DELEGATION_TOKEN", "t-1"), ("USER", "User:bob")}
    assert [row[5] for row in rows(acl("list", "--user-principal", "User:bob").stdout)] == ["CREATE_TOKENS"]
    acl("delete", "--user-principal", "User:bob")
    acl("delete", "--delegation-token", "t-1")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("create", *ALICE, "--operation", "READ"), "required"),
        (("create", *ALICE, "--topic", "t"), "--operation are required"),
        (("create", *ALICE, "--topic", "t", "--group", "g", "--operation", "READ"), "only one of"),
        (("create", *ALICE, "--topic", "t", "--operation", "LEVITATE"), "'LEVITATE' is not an operation"),
        (("delete",), "required"),
    ],
)
def test_a_command_without_required_options(acl: Any, arguments: tuple[str, ...], says: str) -> None:
    result = acl(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_an_acl_that_cannot_be(acl: Any) -> None:
    result = acl("create", "--principal", "alice", "--topic", "t", "--operation", "READ")
    assert result.exit_code == 1
    assert "not of the form Type:name" in result.stderr


def test_acls_without_an_authorizer(run: Any) -> None:
    result = run("acl", "list")
    assert result.exit_code == 1
    assert "authorizer.class.name" in result.stderr
