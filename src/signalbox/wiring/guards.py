"""Who may enter, and how this broker introduces itself elsewhere: listeners' TLS and SASL, outbound security, the
authorizer, the policies. What can only be seen wrong with files at hand (keys, passwords) is found here, all at once:
before a start by `guard_faults`, and again by `read_guards`, since files change."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from signalbox.client.connection_settings import ConnectionSettings
from signalbox.common.config_table import ConfigFault, Value
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.start_refused import StartRefused
from signalbox.network.listener_security import ListenerSecurity, build_security
from signalbox.network.listener_table import readable_listeners, readable_peers
from signalbox.network.network_settings import NetworkSettings, read_network_settings
from signalbox.security.authorizer import Authorizer
from signalbox.security.sasl.scram import NoCredentials, ScramCredentials
from signalbox.wiring.authorizers import authorizer_faults, build_authorizer
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.outbound import connection_settings, outbound_security, own_mechanism_faults
from signalbox.wiring.peer_security import PeerSecurity
from signalbox.wiring.policies import Policies, policy_faults, read_policies


class ConfigRefused(StartRefused):
    """What is wrong with keys, certificates and passwords: all faults, one a line."""


@dataclass(frozen=True, slots=True)
class Guards:
    """`inter_broker` is how connections between brokers are made, `peers` how each of their listeners is secured."""

    network: NetworkSettings
    listeners: Mapping[str, ListenerSecurity]
    inter_broker: ConnectionSettings
    peers: PeerSecurity
    authorizer: Authorizer
    policies: Policies


def read_guards(
    config: NodeConfig, scram_credentials: ScramCredentials | None = None, handshakes: Executor | None = None
) -> Guards:
    """`scram_credentials` are looked up at every login, `handshakes` runs the TLS handshakes of connections to peers.
    ConfigRefused with every fault."""
    table = config.listeners
    network, faults = read_network_settings(config.given, [row.name for row in table])
    listeners, more = build_security(table, network, scram_credentials or NoCredentials())
    faults += more
    own = (table.inter_broker_listener_name, table.inter_broker_security_protocol)
    inter_broker, more = outbound_security(*own, network, handshakes)
    faults += more
    faults += own_mechanism_faults(table.inter_broker_listener_name, table.inter_broker_security_protocol, network)
    name = table.control_plane_listener_name
    if name is not None:
        protocol = table.security_protocol_of(name) or SecurityProtocol.PLAINTEXT
        faults += outbound_security(name, protocol, network)[1]
        faults += own_mechanism_faults(name, protocol, network)
    authorizer, more = build_authorizer(config.values, config.given)
    faults += more
    policies, more = read_policies(config.values, config.given)
    faults += more
    if faults:
        raise ConfigRefused(list(dict.fromkeys(faults)))
    return Guards(
        network,
        listeners,
        connection_settings(config.node_id, inter_broker, config.values),
        PeerSecurity(network, {own: inter_broker}, handshakes),
        authorizer,
        policies,
    )


def guard_faults(given: Mapping[str, str], values: Mapping[str, Value]) -> list[ConfigFault]:
    """The same faults out of a configuration that may have others: what can be made out of its listeners is looked
    at. `given` is the text, `values` the typed values. Reads files and changes nothing."""
    rows = readable_listeners(given)
    network, _ = read_network_settings(given, [row.name for row in rows])
    _, faults = build_security(rows, network, NoCredentials())
    for name, protocol in readable_peers(given).items():
        if name in network.listeners:  # one that is not bound here has a fault already
            faults += outbound_security(name, protocol, network)[1]
            faults += own_mechanism_faults(name, protocol, network)
    faults += authorizer_faults(values)
    faults += policy_faults(values)
    return list(dict.fromkeys(faults))
