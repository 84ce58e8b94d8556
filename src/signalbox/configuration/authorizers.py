"""Builds the authorizer of a configuration (`authorizer.class.name`): none, the built-in one, or a class by import
path."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.broker.authorization.broker_principals import BrokerPrincipalRule
from signalbox.common.clock import Clock
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.store.port import MetadataStore
from signalbox.security.acl_authorizer import AclAuthorizer, parse_networks
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer, parse_super_users
from signalbox.security.class_loading import load_class

Values = Mapping[str, Value]
_KEY = "authorizer.class.name"
_BROKERS_ANYWHERE = "signalbox.broker.principal.changes.on.client.listeners.enable"
_NETWORKS = "signalbox.authorizer.forwarded.acl.changes.from"
# Kafka's own class names mean the built-in authorizer, so that a server.properties of Kafka can be used unchanged.
_BUILT_IN = frozenset(
    {
        "signalbox.security.acl_authorizer.AclAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    }
)


def build_authorizer(values: Values, originals: Mapping[str, str]) -> tuple[Authorizer, list[ConfigFault]]:
    """Returns the authorizer and the faults of its keys. `originals` is the text as the user wrote it."""
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
        authorizer: Authorizer = load_class(str(name))(originals)
        return authorizer, []
    except Exception as error:  # the constructor of a user's class may raise anything
        return AllowAllAuthorizer(), [_fault(str(name), error)]


def with_broker_principal_rule(config: NodeConfig, authorizer: Authorizer) -> Authorizer:
    """Returns the authorizer with F15's rule in front of it. Without inter-broker authentication brokers have no login
    that a client could use, and the rule is left out."""
    proves = config.listeners.inter_broker_security_protocol is not SecurityProtocol.PLAINTEXT
    return BrokerPrincipalRule(authorizer) if proves and not config[_BROKERS_ANYWHERE] else authorizer


def authorizer_faults(values: Values) -> list[ConfigFault]:
    """Returns the faults that show before an authorizer is made. A class by import path is imported, not called."""
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
        except Exception as error:  # the import runs a user's module: it may raise anything
            faults.append(_fault(name, error))
    return faults


def _networks(values: Values) -> list[str]:
    networks = values[_NETWORKS]
    assert isinstance(networks, list)
    return networks


def _fault(name: str, error: Exception) -> ConfigFault:
    remedy = f"Name a class that takes the configuration, or {sorted(_BUILT_IN)[-1]}"
    return ConfigFault(_KEY, name, f"cannot be made: {error}", remedy)


def open_acl_repository(
    store: MetadataStore, clock: Clock, scheduler: TaskScheduler, authorizer: Authorizer
) -> AclRepository | None:
    """Returns the repository of the cluster's ACLs, which gives each change to the built-in authorizer. None for any
    other authorizer, also for a subclass of the built-in one: it has its own view of ACLs."""
    if type(authorizer) is not AclAuthorizer:
        return None
    return AclRepository(store, clock, scheduler, authorizer.replace_view)
