"""The security configuration of a listener: TLS and SASL mechanisms from its settings (L5-L7); TLS can be renewed.

The login module of a mechanism is in `listener.name.<l>.<mechanism>.sasl.jaas.config`, else in the section
`<listener>.KafkaServer` of the JAAS file, else in `KafkaServer`. A `sasl.jaas.config` without mechanism is ignored on a
server, as in Kafka. Without a login module for every enabled mechanism of a SASL listener the broker does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import reason
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.small_file import read_small_file
from signalbox.network.listeners.jaas_location import jaas_file_location
from signalbox.network.listeners.listener_table import ListenerRow
from signalbox.network.listeners.network_settings import ListenerSettings, NetworkSettings, listener_prefix
from signalbox.network.plane import CONTROL, CONTROLLER
from signalbox.network.sasl.jwks_refresher import JwksRefresher
from signalbox.network.sasl.sasl_mechanisms import SUPPORTED_MECHANISMS, MechanismContext, build_mechanism
from signalbox.security.jaas import (
    MODULE_OF_MECHANISM,
    JaasError,
    JaasFile,
    LoginModule,
    parse_jaas_config,
    parse_jaas_file,
)
from signalbox.security.sasl.mechanism import SaslMechanism
from signalbox.security.sasl.scram import ScramCredentials
from signalbox.security.tls.collect_errors import collect_errors
from signalbox.security.tls.listener_tls import ListenerTls, listener_tls, renewed_listener_tls
from signalbox.security.tls.settings import TlsConfigError, TlsSettings, tls_settings

ENABLED_MECHANISMS_KEY = "sasl.enabled.mechanisms"
_JAAS_KEY = "sasl.jaas.config"
_CLIENT_AUTH_KEY = "ssl.client.auth"


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """`tls` if the protocol uses TLS; if it uses SASL, `mechanisms` by Kafka's name, and `refreshers`, which refresh
    the keys that the mechanisms need."""

    tls: ListenerTls | None = None
    mechanisms: Mapping[str, SaslMechanism] = field(default_factory=dict)
    refreshers: tuple[JwksRefresher, ...] = ()


def build_security(
    rows: Iterable[ListenerRow], settings: NetworkSettings, scram_credentials: ScramCredentials
) -> tuple[dict[str, ListenerSecurity], list[ConfigFault]]:
    """The security of every listener by name, and all faults in its configuration; reads the JAAS file if one is
    set."""
    jaas_file, faults = read_jaas_file(settings.everywhere)
    security = {}
    for row in rows:
        security[row.name], more = build_listener_security(
            row, settings.listener(row.name), jaas_file, scram_credentials
        )
        faults += more
    return security, faults


def read_jaas_file(
    everywhere: ListenerSettings, environment: Mapping[str, str] | None = None
) -> tuple[JaasFile, list[ConfigFault]]:
    """The static JAAS file, with its faults; an empty one if there is none or it is invalid."""
    location, place = jaas_file_location(everywhere, environment)
    if not location:
        return JaasFile({}), []
    try:
        return JaasFile(parse_jaas_file(read_small_file(location).decode()), location), []
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = f"cannot be read: {reason(error)}", "Name a JAAS file that this process may read"
    except JaasError as error:
        problem, remedy = str(error), "Write sections of login modules, each ended by ';'"
    return JaasFile({}), [ConfigFault(place, location, problem, remedy)]


def build_listener_security(
    row: ListenerRow,
    settings: ListenerSettings,
    jaas_file: JaasFile,
    scram_credentials: ScramCredentials,
) -> tuple[ListenerSecurity, list[ConfigFault]]:
    """The security of one listener and the faults in its settings."""
    faults: list[ConfigFault] = []
    tls = None
    if row.security_protocol.uses_tls:
        dialled = row.inter_broker or row.plane in (CONTROL, CONTROLLER)
        tls = _or_faults(row, settings, faults, lambda given: listener_tls(given, inter_node=dialled))
    mechanisms: dict[str, SaslMechanism] = {}
    refreshers: list[JwksRefresher] = []
    if row.security_protocol.uses_sasl:
        enabled = settings.names(ENABLED_MECHANISMS_KEY)
        if not enabled:
            key = settings.key_of(row.name, ENABLED_MECHANISMS_KEY)
            remedy = f"No client could log in on {row.name}: name some of {', '.join(SUPPORTED_MECHANISMS)}"
            faults.append(ConfigFault(key, "", "names no mechanism", remedy))
        for name in enabled:
            mechanism = _mechanism(name, row, settings, jaas_file, scram_credentials, faults, refreshers)
            if mechanism is not None:
                mechanisms[name] = mechanism
    return ListenerSecurity(tls, mechanisms, tuple(refreshers)), faults


def renew_tls(
    row: ListenerRow, current: ListenerTls, settings: ListenerSettings
) -> tuple[ListenerTls | None, list[ConfigFault]]:
    """The TLS of listener `row` under changed `settings`, or None and the faults (the checks of KIP-226 are in
    `security/tls/listener_tls.py`). It is not applied: `SocketServer.replace_tls` does that. Any thread may call it."""
    faults: list[ConfigFault] = []
    make = partial(renewed_listener_tls, current)
    renewed, prefix = _or_faults(row, settings, faults, make), listener_prefix(row.name)
    # Only the listener's own keys can be changed while the broker runs.
    return renewed, [replace(fault, key=prefix + fault.key.removeprefix(prefix)) for fault in faults]


def _or_faults(
    row: ListenerRow,
    settings: ListenerSettings,
    faults: list[ConfigFault],
    make: Callable[[TlsSettings], ListenerTls],
) -> ListenerTls | None:
    given = server_tls(row, settings)
    try:
        return make(given)
    except TlsConfigError:
        faults += tls_faults(row.name, settings, collect_errors(given, make))
        return None


def tls_faults(listener_name: str, settings: ListenerSettings, errors: Iterable[TlsConfigError]) -> list[ConfigFault]:
    """Faults in TLS settings, each with the key that was read: the listener's own key if it is set."""
    faults = []
    for error in errors:
        key, own = settings.key_of(listener_name, error.key), listener_prefix(listener_name) + error.key
        remedy = f"Set {error.key}, or {own} for this listener alone" if key != own else "Change it, or leave it out"
        faults.append(ConfigFault(key, listener_name, error.problem, remedy))
    return faults


def login_module(
    listener_name: str, mechanism: str, settings: ListenerSettings, jaas_file: JaasFile
) -> LoginModule | None:
    """The server's login module of a mechanism, None without one. JaasError."""
    text = settings.for_mechanism(mechanism, _JAAS_KEY)
    if text is not None:
        return parse_jaas_config(text)
    return jaas_file.server_module(listener_name, mechanism)


def usable_login_module(
    listener_name: str, mechanism: str, settings: ListenerSettings, jaas_file: JaasFile, faults: list[ConfigFault]
) -> LoginModule | None:
    """The login module that a mechanism needs. If there is none, or it is invalid, a fault is added; None then. A
    broker that connects to such a listener of another node uses it as a client too."""
    key = f"{listener_prefix(listener_name)}{mechanism.lower()}.{_JAAS_KEY}"
    example = f"{MODULE_OF_MECHANISM[mechanism]} required ...;"
    section = f"{listener_name.lower()}.KafkaServer"
    try:
        module = login_module(listener_name, mechanism, settings, jaas_file)
    except JaasError as error:
        faults.append(ConfigFault(key, listener_name, str(error), f"Write one login module: {example}"))
        return None
    if module is None:
        used = jaas_file.server_section(listener_name)
        where = f" in section {used} of {jaas_file.location}, which is the one that counts" if used else ""
        problem = f"the mechanism {mechanism} of {listener_name} has no login module{where}"
        remedy = f"Set it to {example} or add that to {section} or KafkaServer of the JAAS file"
        faults.append(ConfigFault(key, listener_name, problem, remedy))
    elif mechanism not in module.mechanisms:
        problem = f"its class is not the login module of {mechanism}"
        faults.append(ConfigFault(key, listener_name, problem, f"Write {example}"))
        return None
    return module


def _mechanism(
    name: str,
    row: ListenerRow,
    settings: ListenerSettings,
    jaas_file: JaasFile,
    scram_credentials: ScramCredentials,
    faults: list[ConfigFault],
    refreshers: list[JwksRefresher],
) -> SaslMechanism | None:
    if name not in SUPPORTED_MECHANISMS:
        key = settings.key_of(row.name, ENABLED_MECHANISMS_KEY)
        problem = f"is not supported, and {row.name} needs mechanisms"
        faults.append(ConfigFault(key, name, problem, f"Use some of {', '.join(SUPPORTED_MECHANISMS)}"))
        return None
    module = usable_login_module(row.name, name, settings, jaas_file, faults)
    if module is None:
        return None
    return build_mechanism(MechanismContext(row.name, name, settings, module, scram_credentials, faults, refreshers))


def client_auth(row: ListenerRow, settings: ListenerSettings) -> str:
    """Whether a TLS listener requests client certificates: none, requested or required."""
    if row.security_protocol is SecurityProtocol.SASL_SSL and _CLIENT_AUTH_KEY not in settings.own:
        return "none"  # the global key is only for SSL listeners, not for SASL_SSL
    return settings.text(_CLIENT_AUTH_KEY)


def server_tls(row: ListenerRow, settings: ListenerSettings) -> TlsSettings:
    """The TLS settings of a listener that has TLS."""
    return replace(tls_settings(settings.text, settings.names), client_auth=client_auth(row, settings))
