"""Which authorizer a configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.common.config_table import ConfigFault
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer
from signalbox.wiring.authorizers import build_authorizer
from tests.broker.asking import context
from tests.wiring.settings import config_of


def asked(**changes: str) -> tuple[Authorizer, list[ConfigFault]]:
    config = config_of(**changes)
    return build_authorizer(config.values, config.given)


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
    authorizer, faults = build_authorizer(config.values, config.given)
    assert isinstance(authorizer, AclAuthorizer)
    assert faults == []
    for user, allowed in (("admin", True), ("CN=b,O=x", True), ("alice", everyone == "true")):
        assert authorizer.authorize(context(user), AclOperation.READ, ResourceType.TOPIC, "t") == allowed


def test_ones_own_by_import_path() -> None:
    authorizer, faults = asked(authorizer__class__name=f"{__name__}.Mine")
    assert isinstance(authorizer, Mine)
    assert (authorizer.node_id, faults) == ("1", [])


@pytest.mark.parametrize("name", ["nope", "no.such.module.Class", "signalbox.wiring.authorizers.Nope", "json.dumps.x"])
def test_a_class_that_cannot_be_made(name: str) -> None:
    _, [fault] = asked(authorizer__class__name=name)
    assert (fault.key, fault.entry) == ("authorizer.class.name", name)


def test_super_users_that_are_none() -> None:
    name = "kafka.security.authorizer.AclAuthorizer"
    _, [fault] = asked(authorizer__class__name=name, super__users="admin")
    assert fault.key == "super.users"
    assert "'admin'" in fault.problem
