"""Which authorizer a configuration asks for (`authorizer.class.name`): none, ours, or one by import path."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from signalbox.common.clock import Clock
from signalbox.common.config_table import ConfigFault
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.store.port import MetadataStore
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer, parse_super_users
from signalbox.wiring.configuration import NodeConfig

_KEY = "authorizer.class.name"
# Kafka's own class names mean the built-in one, so that a server.properties can be taken over as it is.
_BUILT_IN = frozenset(
    {
        "signalbox.security.acl_authorizer.AclAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    }
)


def build_authorizer(config: NodeConfig) -> tuple[Authorizer, list[ConfigFault]]:
    """The authorizer, and what is wrong with its keys."""
    name = config[_KEY]
    if not name:
        return AllowAllAuthorizer(), []
    try:
        super_users = parse_super_users(config["super.users"])
    except ValueError as error:
        return AllowAllAuthorizer(), [
            ConfigFault("super.users", config["super.users"], str(error), "Separate users by semicolons")
        ]
    if name in _BUILT_IN:
        return AclAuthorizer(None, super_users, config["allow.everyone.if.no.acl.found"]), []
    try:
        authorizer: Any = _load(name)
        return authorizer(config.given), []
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        remedy = f"Name a class that takes the configuration, or {sorted(_BUILT_IN)[-1]}"
        return AllowAllAuthorizer(), [ConfigFault(_KEY, name, f"cannot be made: {error}", remedy)]


def keep_acls(store: MetadataStore, clock: Clock, authorizer: Authorizer) -> AclRepository | None:
    """The cluster's ACLs for an authorizer that decides by them, each change handed to it; None for any other."""
    if not isinstance(authorizer, AclAuthorizer):
        return None
    return AclRepository(store, clock, authorizer.replace_view)


def _load(path: str) -> Any:
    module, dot, name = path.rpartition(".")
    if not dot:
        raise ValueError("expected package.module.Class")
    return getattr(import_module(module), name)
