"""The authorizer that a configuration names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.config_table import ConfigFault
from signalbox.configuration.authorizers import build_authorizer, open_acl_repository, with_broker_principal_rule
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.acl_view import AclIndex
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer
from signalbox.testing.cluster import Cluster
from tests.broker.handler_requests import context
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of
from tests.system.wire import Wire

OWN_ACL = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "t"), AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
)


def asked(**changes: str) -> tuple[Authorizer, list[ConfigFault]]:
    config = config_of(**changes)
    return build_authorizer(config.values, config.originals)


class Mine(AllowAllAuthorizer):
    def __init__(self, given: Mapping[str, str]) -> None:
        self.node_id = given["node.id"]


def test_none_allows_everything() -> None:
    authorizer, faults = asked()
    assert isinstance(authorizer, AllowAllAuthorizer)
    assert faults == []


@pytest.mark.parametrize(
    "name",
    [
        "signalbox.security.acl_authorizer.AclAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    ],
)
@pytest.mark.parametrize("everyone", ["true", "false"])
def test_kafkas_names_mean_the_built_in_one(name: str, everyone: str) -> None:
    config = config_of(
        authorizer__class__name=name,
        super__users="User:admin; User:CN=b,O=x ",
        allow__everyone__if__no__acl__found=everyone,
    )
    authorizer, faults = build_authorizer(config.values, config.originals)
    assert isinstance(authorizer, AclAuthorizer)
    assert faults == []
    for user, allowed in (("admin", True), ("CN=b,O=x", True), ("alice", everyone == "true")):
        assert authorizer.authorize(context(user), AclOperation.READ, ResourceType.TOPIC, "t") == allowed


def test_ones_own_by_import_path() -> None:
    authorizer, faults = asked(authorizer__class__name=f"{__name__}.Mine")
    assert isinstance(authorizer, Mine)
    assert (authorizer.node_id, faults) == ("1", [])


class MineFromOurs(AclAuthorizer):
    """A custom authorizer that decides as the built-in one does, with ACLs of its own."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(AclIndex([OWN_ACL], stamp=1))


def test_stored_acls_are_read_only_by_the_built_in_authorizer() -> None:
    store = MemoryMetadataStore(SharedEntries())
    built_in, _ = asked(authorizer__class__name="kafka.security.authorizer.AclAuthorizer")
    assert open_acl_repository(store, ManualClock(), ImmediateScheduler(), built_in) is not None
    for name in ("Mine", "MineFromOurs"):
        own, _ = asked(authorizer__class__name=f"{__name__}.{name}")
        assert open_acl_repository(store, ManualClock(), ImmediateScheduler(), own) is None


@pytest.mark.parametrize(
    "name", ["nope", "no.such.module.Class", "signalbox.configuration.authorizers.Nope", "json.dumps.x"]
)
def test_a_class_that_cannot_be_made(name: str) -> None:
    _, [fault] = asked(authorizer__class__name=name)
    assert (fault.key, fault.entry) == ("authorizer.class.name", name)


def test_super_users_that_are_none() -> None:
    name = "kafka.security.authorizer.AclAuthorizer"
    _, [fault] = asked(authorizer__class__name=name, super__users="admin")
    assert fault.key == "super.users"
    assert "'admin'" in fault.problem


def test_networks_that_are_none() -> None:
    name = "kafka.security.authorizer.AclAuthorizer"
    _, [fault] = asked(
        authorizer__class__name=name, signalbox__authorizer__forwarded__acl__changes__from="10.0.0.0/8,everywhere"
    )
    assert fault.key == "signalbox.authorizer.forwarded.acl.changes.from"
    assert "'everywhere'" in fault.problem


@pytest.mark.spec("F15")
@pytest.mark.parametrize(
    ("given", "ruled"),
    [
        ({}, False),
        ({"listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:PLAINTEXT"}, True),
        (
            {
                "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:PLAINTEXT",
                "signalbox.broker.principal.changes.on.client.listeners.enable": "true",
            },
            False,
        ),
    ],
)
def test_brokers_logins_are_for_brokers_where_they_have_any(given: dict[str, str], ruled: bool) -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="p";'
    mechanism = {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.replication.plain.sasl.jaas.config": login,
    }
    inner = AllowAllAuthorizer()
    authorizer = with_broker_principal_rule(config_of(**mechanism, **given), inner)
    assert (authorizer is not inner) == ruled


@pytest.mark.spec("F8")
@pytest.mark.parametrize(("network", "from_outside"), [("10.0.0.0/8", True), ("10.0.0.0/8,127.0.0.0/8", False)])
def test_a_forwarded_acl_change_from_outside_is_rejected_and_one_to_the_controller_itself_is_not(
    network: str, from_outside: bool
) -> None:
    overrides = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS",
        "signalbox.authorizer.forwarded.acl.changes.from": network,
    }
    creation = CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )
    with Cluster(brokers=2, overrides=overrides) as cluster:
        for node in cluster.nodes.values():
            with Wire(node.describe()["listeners"]["CLIENT"]) as wire:
                [made] = wire.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=[creation])).results
            rejected = from_outside and not node.components.controller.is_active
            assert made.error_code == (Error.CLUSTER_AUTHORIZATION_FAILED if rejected else Error.NONE)
