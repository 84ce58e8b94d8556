"""Whether brokers could log in to each other: the credentials of the connecting broker against the settings of the
peer's listener (L6, L7).

Each rule checks every pair in both directions, for each listener of the peer that brokers connect to. Certificates and
login modules are read from the files that the configurations name; passwords are never printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import Endpoint
from signalbox.configuration.check.checked_broker import CheckedBroker
from signalbox.configuration.outbound import mechanism_key, outbound_security
from signalbox.network.listeners.listener_security import (
    ENABLED_MECHANISMS_KEY,
    build_security,
    login_module,
    read_jaas_file,
)
from signalbox.network.listeners.network_settings import ListenerSettings, listener_prefix, read_network_settings
from signalbox.security.jaas import LoginModule
from signalbox.security.sasl.mechanism import PLAIN
from signalbox.security.sasl.scram import NoCredentials
from signalbox.security.tls.listener_tls import handshake_problem

_CALLBACK_KEY = "sasl.server.callback.handler.class"


@dataclass(frozen=True, slots=True)
class _InterNodeConnection:
    """`broker` connects to `endpoint` of `peer`."""

    broker: CheckedBroker
    peer: CheckedBroker
    endpoint: Endpoint

    @property
    def mine(self) -> ListenerSettings:
        return self.broker.settings(self.endpoint.listener_name)

    @property
    def theirs(self) -> ListenerSettings:
        return self.peer.settings(self.endpoint.listener_name)


def settings_for_peers(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """For a listener that only the peer has, a broker uses its own keys with that listener's name."""
    for connection in _inter_node_connections(brokers):
        name, protocol = connection.endpoint.listener_name, connection.endpoint.security_protocol
        own = connection.broker.table.inter_node_listeners.get(name) is protocol
        if own:
            continue  # already checked, as a listener of its own
        network, _ = read_network_settings(connection.broker.config.originals, [name])
        for fault in outbound_security(name, protocol, network)[1]:
            problem = f"{fault.problem}, needed to log in at {connection.peer}"
            yield replace(fault, problem=problem, origin=connection.broker.properties.where(fault.key))


def mechanisms_taken(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """The mechanism that a broker logs in with must be enabled on the peer's listener."""
    for connection in _inter_node_connections(brokers):
        key = mechanism_key(connection.endpoint.listener_name, connection.mine)
        used, enabled = connection.mine.text(key), connection.theirs.names(ENABLED_MECHANISMS_KEY)
        if connection.endpoint.security_protocol.uses_sasl and used not in enabled:
            name = connection.endpoint.listener_name
            problem = f"{connection.peer} takes {', '.join(enabled)} on {name}"
            remedy = f"Use one of these, or add {used} to {ENABLED_MECHANISMS_KEY} there first"
            yield connection.broker.fault(connection.mine.key_of(name, key), used, problem, remedy)


def users_known(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """PLAIN's users are written in login modules: the peer's must contain this broker's user and password. SCRAM's
    users are in the metadata store, and a user's own callback handler may accept any user: neither is checked."""
    for connection in _inter_node_connections(brokers):
        used = connection.mine.text(mechanism_key(connection.endpoint.listener_name, connection.mine))
        plain = used == PLAIN in connection.theirs.names(ENABLED_MECHANISMS_KEY)
        elsewhere = connection.theirs.for_mechanism(PLAIN, _CALLBACK_KEY) is not None
        if not connection.endpoint.security_protocol.uses_sasl or not plain or elsewhere:
            continue
        client_module, server_module = (
            _module(connection.broker, connection.mine, connection.endpoint),
            _module(connection.peer, connection.theirs, connection.endpoint),
        )
        user = None if client_module is None else client_module.options.get("username")
        if (
            client_module is None
            or server_module is None
            or user is None
            or server_module.users.get(user) == client_module.options.get("password")
        ):
            continue
        name = connection.endpoint.listener_name
        mismatch = "has another password for it" if user in server_module.users else "does not know this user"
        key = f"{listener_prefix(name)}plain.sasl.jaas.config"
        yield connection.broker.fault(
            key, user, f"{connection.peer} {mismatch} on {name}", f"Add user_{user} to the login module there"
        )


def certificates_trusted(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Runs the TLS handshake of both sides in memory, with the check of the host name."""
    for connection in _inter_node_connections(brokers):
        if not connection.endpoint.security_protocol.uses_tls or not connection.endpoint.host:
            continue  # a blank host is the peer machine's own name, which is in no file
        name = connection.endpoint.listener_name
        network, _ = read_network_settings(connection.broker.config.originals, [name])
        security, faults = outbound_security(name, connection.endpoint.security_protocol, network)
        their_network, _ = read_network_settings(connection.peer.config.originals, [name])
        listener_security, _ = build_security([connection.peer.table.row(name)], their_network, NoCredentials())
        tls = listener_security[name].tls
        if faults or security.tls is None or tls is None:
            continue  # reported by other rules
        problem = handshake_problem(tls.context, security.tls.context, connection.endpoint.host)
        if problem:
            key = connection.mine.key_of(name, "ssl.truststore.location")
            remedy = "Both truststores must know who signed the other's certificate, and that must be for the host"
            yield connection.broker.fault(
                key, name, f"{connection.peer} would not be reached on {connection.endpoint}: {problem}", remedy
            )


def _inter_node_connections(brokers: Sequence[CheckedBroker]) -> Iterator[_InterNodeConnection]:
    """Controllers connect to brokers, brokers to controllers, and controllers to each other, to check whether the
    active controller is alive."""
    for broker, peer in permutations(brokers, 2):
        for name in peer.of_brokers:
            yield _InterNodeConnection(broker, peer, peer.inter_node_endpoint(name))


def _module(broker: CheckedBroker, settings: ListenerSettings, endpoint: Endpoint) -> LoginModule | None:
    jaas_file, _ = read_jaas_file(settings)
    return login_module(endpoint.listener_name, PLAIN, settings, jaas_file)
