"""Security of a node: its listeners' TLS and SASL, outbound security, the authorizer, the policies. Faults that show
only when files are read (keys, passwords) are found here, all at once: before a start by `security_faults`, and again
by `read_security_config`, since files change."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.config.start_error import StartError
from signalbox.common.endpoint import Endpoint
from signalbox.common.inter_broker_protocol import forwards
from signalbox.configuration.authorizers import authorizer_faults, build_authorizer
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.outbound import connection_settings, outbound_security, own_mechanism_faults
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.configuration.policies import Policies, policy_faults, read_policies
from signalbox.configuration.principals import Principals, principal_faults, read_principals
from signalbox.metadata.entries.entity_config import Configs
from signalbox.network.listeners.listener_security import ListenerSecurity, build_security
from signalbox.network.listeners.listener_table import (
    ListenerTable,
    bound_elsewhere,
    read_listener_table,
    readable_listeners,
    readable_peers,
)
from signalbox.network.listeners.network_settings import NetworkSettings, read_network_settings
from signalbox.security.authorizer import Authorizer
from signalbox.security.sasl.scram import NoCredentials, ScramCredentials

log = logging.getLogger(__name__)


class ConfigRejected(StartError):
    """Faults of keys, certificates and passwords: all of them, one per line."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """A node's listeners with their security, as the configuration has them at one moment."""

    table: ListenerTable
    network: NetworkSettings
    security: Mapping[str, ListenerSecurity]


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """`inter_broker` has the settings of connections between brokers, `peers` the security of each of their
    listeners."""

    listeners: Listeners
    inter_broker: ConnectionSettings
    peers: PeerSecurity
    authorizer: Authorizer
    policies: Policies
    principals: Principals


def read_security_config(
    config: NodeConfig,
    scram_credentials: ScramCredentials | None = None,
    live: Configs | None = None,
    handshakes: Executor | None = None,
) -> SecurityConfig:
    """`scram_credentials` are looked up at every login, `handshakes` runs the TLS handshakes of connections to peers.
    `live` are this broker's dynamic keys; if the listeners cannot be built with them, they are ignored and the log
    gives the reason. ConfigRejected with every fault of server.properties."""
    users = scram_credentials or NoCredentials()
    listeners, faults = read_listeners(config, live or {}, users)
    authorizer, others = build_authorizer(config.values, config.originals)
    policies, more = read_policies(config.values, config.originals)
    if faults and live:
        log.error(
            "Invalid dynamic configs of this broker's listeners ignored at the start: %s", "; ".join(map(str, faults))
        )
        listeners, faults = read_listeners(config, {}, users)
    principals, last = read_principals(
        listeners.network, [row.name for row in listeners.table], config.originals, forwards(config.values)
    )
    if faults or others or more or last:
        raise ConfigRejected(list(dict.fromkeys([*faults, *others, *more, *last])))
    peers, table = PeerSecurity(listeners.network, handshakes), listeners.table
    own = Endpoint(table.inter_broker_listener_name, "", 0, table.inter_broker_security_protocol)
    inter_broker = connection_settings(config.node_id, peers.of(own), config.values)
    return SecurityConfig(listeners, inter_broker, peers, authorizer, policies, principals)


def read_listeners(
    config: NodeConfig, live: Configs, scram_credentials: ScramCredentials
) -> tuple[Listeners, list[ConfigFault]]:
    """Returns the listeners of server.properties with `live` applied, and all faults, those of connections to peers'
    listeners included. Reads files."""
    originals = {**config.originals, **live}
    changed, faults = read_listener_table(originals)
    table = changed or config.listeners
    network, more = read_network_settings(originals, table.settings_names)
    faults += more
    security, more = build_security(table, network, scram_credentials)
    faults += more
    for name, protocol in table.inter_node_listeners.items():
        faults += outbound_security(name, protocol, network)[1]
        if name in table:
            faults += own_mechanism_faults(name, protocol, network)
    return Listeners(table, network, security), list(dict.fromkeys(faults))


def security_faults(originals: Mapping[str, str], values: Mapping[str, Value]) -> list[ConfigFault]:
    """Returns the same faults for a configuration that may have others: the listeners that can be read are checked.
    `originals` is the text, `values` the typed values. Reads files and changes nothing."""
    rows, elsewhere = readable_listeners(originals), bound_elsewhere(originals)
    bound = [row.name for row in rows]
    network, _ = read_network_settings(originals, dict.fromkeys((*bound, *elsewhere)))
    _, faults = build_security(rows, network, NoCredentials())
    for name, protocol in readable_peers(originals).items():
        if name in bound or name in elsewhere:  # a listener that should be bound here and is not has a fault already
            faults += outbound_security(name, protocol, network)[1]
        if name in bound:
            faults += own_mechanism_faults(name, protocol, network)
    faults += authorizer_faults(values)
    faults += policy_faults(values)
    faults += principal_faults(network, [row.name for row in rows], forwards(values))
    return list(dict.fromkeys(faults))
