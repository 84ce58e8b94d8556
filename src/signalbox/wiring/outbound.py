"""How this broker dials its peers: TLS and SASL of the listener it connects to, with the server's own credentials of
that listener, as Kafka does (facts: 1.9)."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.client.client_security import sasl_login
from signalbox.client.connection_settings import PLAINTEXT, ConnectionSecurity, ConnectionSettings, OutboundTls
from signalbox.common.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.listener_security import JAAS_FILE_KEY, login_module, read_jaas_file
from signalbox.network.network_settings import NetworkSettings
from signalbox.security.jaas import JaasError, LoginModule
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsConfigError, tls_settings

_MECHANISM_KEY = "sasl.mechanism.inter.broker.protocol"


def outbound_security(
    listener_name: str, protocol: SecurityProtocol, settings: NetworkSettings
) -> tuple[ConnectionSecurity, list[ConfigFault]]:
    """The security of connections to peers' listener of that name, and what is wrong with its settings."""
    listener = settings.listener(listener_name)
    faults: list[ConfigFault] = []
    tls = None
    if protocol.uses_tls:
        try:
            tls = OutboundTls(client_context(tls_settings(listener.text, listener.names)))
        except TlsConfigError as error:
            faults.append(ConfigFault(error.key, "", error.problem, f"Needed to connect to peers on {listener_name}"))
    login = None
    if protocol.uses_sasl:
        mechanism = listener.text(_MECHANISM_KEY)
        jaas_file, more = read_jaas_file(settings.everywhere.text(JAAS_FILE_KEY))
        faults += more
        module = None
        try:
            module = login_module(listener_name, mechanism, listener, jaas_file)
        except JaasError as error:
            faults.append(ConfigFault(_MECHANISM_KEY, mechanism, str(error), "Write one login module, ended by ';'"))
        credentials = _credentials(module)
        if credentials is None:
            faults.append(
                ConfigFault(
                    _MECHANISM_KEY,
                    mechanism,
                    f"the login module for {listener_name} has no username and password",
                    f"Add them to listener.name.{listener_name.lower()}.{mechanism.lower()}.sasl.jaas.config",
                )
            )
        else:
            login = sasl_login(mechanism, *credentials)
    if tls is None and login is None:
        return PLAINTEXT, faults
    return ConnectionSecurity(tls, login), faults


def connection_settings(node_id: int, security: ConnectionSecurity, values: Mapping[str, object]) -> ConnectionSettings:
    """Connections of this broker; its client id is its node id, as in Kafka."""
    connect_ms, request_ms = values["controller.socket.timeout.ms"], values["request.timeout.ms"]
    assert isinstance(connect_ms, int)
    assert isinstance(request_ms, int)
    return ConnectionSettings(
        client_id=str(node_id),
        connect_timeout_ms=min(connect_ms, 10_000),
        request_timeout_ms=request_ms,
        security=security,
    )


def _credentials(module: LoginModule | None) -> tuple[str, str] | None:
    if module is None:
        return None
    user, password = module.options.get("username"), module.options.get("password")
    return None if user is None or password is None else (user, password)
