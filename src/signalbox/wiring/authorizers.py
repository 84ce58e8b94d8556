"""Which authorizer a configuration asks for (`authorizer.class.name`): none, ours, or one by import path."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.broker.broker_principals import BrokerPrincipalRule
from signalbox.common.clock import Clock
from signalbox.common.config_table import ConfigFault, Value
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.import_path import load_class
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.store.port import MetadataStore
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer, parse_super_users
from signalbox.security.forwarded_acl_changes import parse_networks
from signalbox.wiring.configuration import NodeConfig

Values = Mapping[str, Value]
_KEY = "authorizer.class.name"
_BROKERS_ANYWHERE = "broker.principal.changes.on.client.listeners.enable"
_NETWORKS = "authorizer.forwarded.acl.changes.from"
# Kafka's own class names mean the built-in one, so that a server.properties can be taken over as it is.
_BUILT_IN = frozenset(
    {
        "signalbox.security.acl_authorizer.AclAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    }
)


def build_authorizer(values: Values, given: Mapping[str, str]) -> tuple[Authorizer, list[ConfigFault]]:
    """The authorizer, and what is wrong with its keys. `given` is the text as the user wrote it."""
    name, users = values[_KEY], str(values["super.users"])
    if not name:
        return AllowAllAuthorizer(), []
    faults = authorizer_faults(values)
    if faults:
        return AllowAllAuthorizer(), faults
    if name in _BUILT_IN:
        open_to_all = values["allow.everyone.if.no.acl.found"] is True
        return AclAuthorizer(None, parse_super_users(users), open_to_all, parse_networks(_networks(values))), []
    try:
        authorizer: Authorizer = load_class(str(name))(given)
        return authorizer, []
    except Exception as error:  # somebody else's constructor may raise what it likes
        return AllowAllAuthorizer(), [_fault(str(name), error)]


def with_broker_principal_rule(config: NodeConfig, authorizer: Authorizer) -> Authorizer:
    """The authorizer with F15's rule before it. Where brokers do not prove themselves to each other nobody has their
    login."""
    proves = config.listeners.inter_broker_security_protocol is not SecurityProtocol.PLAINTEXT
    return BrokerPrincipalRule(authorizer) if proves and not config[_BROKERS_ANYWHERE] else authorizer


def authorizer_faults(values: Values) -> list[ConfigFault]:
    """What can be seen to be wrong before one is made. A class by import path is looked for, not called."""
    name, users = str(values[_KEY] or ""), str(values["super.users"])
    if not name:
        return []
    faults = []
    try:
        parse_super_users(users)
    except ValueError as error:
        faults.append(ConfigFault("super.users", users, str(error), "Separate users by semicolons"))
    try:
        parse_networks(_networks(values))
    except ValueError as error:
        faults.append(ConfigFault(_NETWORKS, ",".join(_networks(values)), str(error), "Separate networks by commas"))
    if name not in _BUILT_IN:
        try:
            load_class(name)
        except Exception as error:  # somebody else's module is run: it may raise anything
            faults.append(_fault(name, error))
    return faults


def _networks(values: Values) -> list[str]:
    networks = values[_NETWORKS]
    assert isinstance(networks, list)
    return networks


def _fault(name: str, error: Exception) -> ConfigFault:
    remedy = f"Name a class that takes the configuration, or {sorted(_BUILT_IN)[-1]}"
    return ConfigFault(_KEY, name, f"cannot be made: {error}", remedy)


def keep_acls(store: MetadataStore, clock: Clock, authorizer: Authorizer) -> AclRepository | None:
    """The cluster's ACLs for the built-in authorizer, each change handed to it; None for any other, which has a view of
    its own even when it is made from ours."""
    if type(authorizer) is not AclAuthorizer:
        return None
    return AclRepository(store, clock, authorizer.replace_view)
