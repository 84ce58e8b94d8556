"""Security of this broker's connections to its peers: TLS and SASL settings of the target listener's name, with the
broker's own credentials for that listener, as in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor

from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection_settings import (
    PLAINTEXT,
    ConnectionSecurity,
    ConnectionSettings,
    OutboundTls,
    SaslLogin,
)
from signalbox.client.connection.oauth_login import LOGIN_CALLBACK_KEY, LoginParts, oauth_login
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol, normalize_listener_name
from signalbox.network.listeners.controller_listeners import CONTROLLER_NAMES
from signalbox.network.listeners.listener_security import (
    ENABLED_MECHANISMS_KEY,
    read_jaas_file,
    tls_faults,
    usable_login_module,
)
from signalbox.network.listeners.network_settings import ListenerSettings, NetworkSettings, listener_prefix
from signalbox.network.sasl.sasl_mechanisms import SUPPORTED_MECHANISMS
from signalbox.security.jaas import LoginModule
from signalbox.security.sasl.mechanism import OAUTHBEARER
from signalbox.security.tls.collect_errors import collect_errors
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsConfigError, tls_settings

INTER_BROKER_MECHANISM_KEY = "sasl.mechanism.inter.broker.protocol"
CONTROLLER_MECHANISM_KEY = "sasl.mechanism.controller.protocol"


def mechanism_key(listener_name: str, settings: ListenerSettings) -> str:
    """The key of the SASL mechanism for connections to peers' listener of that name."""
    controllers = map(normalize_listener_name, settings.names(CONTROLLER_NAMES))
    return CONTROLLER_MECHANISM_KEY if listener_name in controllers else INTER_BROKER_MECHANISM_KEY


def outbound_security(
    listener_name: str, protocol: SecurityProtocol, settings: NetworkSettings, handshakes: Executor | None = None
) -> tuple[ConnectionSecurity, list[ConfigFault]]:
    """Returns the security of connections to peers' listener of that name, and the faults of its settings. `handshakes`
    runs their TLS handshakes."""
    listener = settings.listener(listener_name)
    faults: list[ConfigFault] = []
    tls = None
    if protocol.uses_tls:
        outbound_tls = tls_settings(listener.text, listener.names)
        try:
            tls = OutboundTls(client_context(outbound_tls), handshakes)
        except TlsConfigError:
            faults += tls_faults(listener_name, listener, collect_errors(outbound_tls, client_context))
    login = _login(listener_name, listener, settings, faults) if protocol.uses_sasl else None
    if tls is None and login is None:
        return PLAINTEXT, faults
    return ConnectionSecurity(tls, login, listener_name), faults


def own_mechanism_faults(
    listener_name: str, protocol: SecurityProtocol, settings: NetworkSettings
) -> list[ConfigFault]:
    """On their own listener, brokers with these settings must accept each other: the mechanism that they log in with
    must be enabled there. A listener that only peers have is checked by the peers."""
    listener = settings.listener(listener_name)
    used_key = mechanism_key(listener_name, listener)
    mechanism, enabled_key = listener.text(used_key), listener.key_of(listener_name, ENABLED_MECHANISMS_KEY)
    is_accepted = mechanism not in SUPPORTED_MECHANISMS or mechanism in listener.names(ENABLED_MECHANISMS_KEY)
    if not protocol.uses_sasl or is_accepted:  # an unsupported mechanism is reported where it is used
        return []
    problem = f"is not in {enabled_key}, so that no broker could log in on {listener_name}"
    remedy = f"Add it to {enabled_key}, or use one that is there"
    return [ConfigFault(listener.key_of(listener_name, used_key), mechanism, problem, remedy)]


def _login(
    listener_name: str, listener: ListenerSettings, settings: NetworkSettings, faults: list[ConfigFault]
) -> SaslLogin | None:
    """This broker's login at its peers: it uses the broker's own login module of that listener."""
    used_key = mechanism_key(listener_name, listener)
    mechanism, key = listener.text(used_key), listener.key_of(listener_name, used_key)
    if mechanism not in SUPPORTED_MECHANISMS:
        remedy = f"Brokers log in on {listener_name} with it: use one of {', '.join(SUPPORTED_MECHANISMS)}"
        faults.append(ConfigFault(key, mechanism, "is not supported", remedy))
        return None
    jaas_file, more = read_jaas_file(settings.everywhere)
    faults += more
    module = usable_login_module(listener_name, mechanism, listener, jaas_file, faults)
    if module is None:
        return None
    if mechanism == OAUTHBEARER:
        return _token_login(listener_name, listener, module, faults)
    username, password = module.options.get("username"), module.options.get("password")
    if username is None or password is None:
        own = f"{listener_prefix(listener_name)}{mechanism.lower()}.sasl.jaas.config"
        problem = f"the login module of {listener_name} has no username and password"
        faults.append(ConfigFault(own, listener_name, problem, "Add those with which this broker logs in at its peers"))
        return None
    return sasl_login(mechanism, username, password)


def _token_login(
    listener_name: str, listener: ListenerSettings, module: LoginModule, faults: list[ConfigFault]
) -> SaslLogin | None:
    prefix = f"{listener_prefix(listener_name)}{OAUTHBEARER.lower()}."
    mechanism = f"{OAUTHBEARER.lower()}."
    return oauth_login(
        LoginParts(
            module=module,
            value=lambda key: listener.of_mechanism(OAUTHBEARER, key),
            key_of=prefix.__add__,
            callback=listener.for_mechanism(OAUTHBEARER, LOGIN_CALLBACK_KEY) or "",
            listener_name=listener_name,
            configs={
                key.removeprefix(mechanism): text
                for key, text in listener.by_mechanism.items()
                if key.startswith(mechanism)
            },
            faults=faults,
        )
    )


def connection_settings(node_id: int, security: ConnectionSecurity, values: Mapping[str, object]) -> ConnectionSettings:
    """Settings of this broker's connections; the client id is the node id, as in Kafka."""
    connect_ms, request_ms = values["controller.socket.timeout.ms"], values["request.timeout.ms"]
    assert isinstance(connect_ms, int)
    assert isinstance(request_ms, int)
    return ConnectionSettings(
        client_id=str(node_id),
        connect_timeout_ms=min(connect_ms, 10_000),
        request_timeout_ms=request_ms,
        security=security,
    )
