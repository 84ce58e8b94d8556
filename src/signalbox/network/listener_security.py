"""What guards a listener: its TLS and its SASL mechanisms, from its settings (L5-L7); the TLS part can be renewed.

Where a mechanism's login module comes from: `listener.name.<l>.<mechanism>.sasl.jaas.config`, else the JAAS
file's section `<listener>.KafkaServer`, else `KafkaServer`. A `sasl.jaas.config` without mechanism is ignored on a
server, as in Kafka. Every enabled mechanism of a SASL listener must have one, or the start is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from signalbox.common.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.small_file import read_small_file
from signalbox.common.start_refused import reason
from signalbox.network.jaas_location import jaas_file_location
from signalbox.network.jwks_keeper import JwksKeeper
from signalbox.network.listener_table import ListenerRow
from signalbox.network.network_settings import ListenerSettings, NetworkSettings, listener_prefix
from signalbox.network.plane import CONTROL, CONTROLLER
from signalbox.network.sasl_mechanisms import SUPPORTED_MECHANISMS, MechanismParts, build_mechanism
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
from signalbox.security.tls.every_error import every_error
from signalbox.security.tls.listener_tls import ListenerTls, listener_tls, renewed_listener_tls
from signalbox.security.tls.settings import TlsConfigError, TlsSettings, tls_settings

ENABLED_MECHANISMS_KEY = "sasl.enabled.mechanisms"
_JAAS_KEY = "sasl.jaas.config"
_CLIENT_AUTH_KEY = "ssl.client.auth"


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """`tls` where the protocol uses TLS; `mechanisms` by Kafka's name where it uses SASL, `keepers` of the keys that
    they check with."""

    tls: ListenerTls | None = None
    mechanisms: Mapping[str, SaslMechanism] = field(default_factory=dict)
    keepers: tuple[JwksKeeper, ...] = ()


def build_security(
    rows: Iterable[ListenerRow], settings: NetworkSettings, scram_credentials: ScramCredentials
) -> tuple[dict[str, ListenerSecurity], list[ConfigFault]]:
    """The guards of every listener by name and all that is wrong with them; reads the JAAS file if one is set."""
    jaas_file, faults = read_jaas_file(settings.everywhere)
    guards = {}
    for row in rows:
        guards[row.name], more = build_listener_security(row, settings.listener(row.name), jaas_file, scram_credentials)
        faults += more
    return guards, faults


def read_jaas_file(
    everywhere: ListenerSettings, environment: Mapping[str, str] | None = None
) -> tuple[JaasFile, list[ConfigFault]]:
    """The static JAAS file, an empty one when there is none or it is faulty."""
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
    """The guards of one listener and what is wrong with its settings."""
    faults: list[ConfigFault] = []
    tls = None
    if row.security_protocol.uses_tls:
        dialled = row.inter_broker or row.plane in (CONTROL, CONTROLLER)
        tls = _or_faults(row, settings, faults, lambda given: listener_tls(given, dialled_by_brokers=dialled))
    mechanisms: dict[str, SaslMechanism] = {}
    keepers: list[JwksKeeper] = []
    if row.security_protocol.uses_sasl:
        enabled = settings.names(ENABLED_MECHANISMS_KEY)
        if not enabled:
            key = settings.key_of(row.name, ENABLED_MECHANISMS_KEY)
            remedy = f"Nobody could log in on {row.name}: name some of {', '.join(SUPPORTED_MECHANISMS)}"
            faults.append(ConfigFault(key, "", "names no mechanism", remedy))
        for name in enabled:
            mechanism = _mechanism(name, row, settings, jaas_file, scram_credentials, faults, keepers)
            if mechanism is not None:
                mechanisms[name] = mechanism
    return ListenerSecurity(tls, mechanisms, tuple(keepers)), faults


def renew_tls(
    row: ListenerRow, current: ListenerTls, settings: ListenerSettings
) -> tuple[ListenerTls | None, list[ConfigFault]]:
    """What listener `row` would serve TLS with under changed `settings`, or None and what is wrong (KIP-226's checks:
    `security/tls/listener_tls.py`). Nothing is put to use: that is `SocketServer.replace_tls`. Any thread."""
    faults: list[ConfigFault] = []
    make = partial(renewed_listener_tls, current)
    renewed, prefix = _or_faults(row, settings, faults, make), listener_prefix(row.name)
    # Only the listener's own keys can be changed while it serves.
    return renewed, [replace(fault, key=prefix + fault.key.removeprefix(prefix)) for fault in faults]


def _or_faults(
    row: ListenerRow,
    settings: ListenerSettings,
    faults: list[ConfigFault],
    make: Callable[[TlsSettings], ListenerTls],
) -> ListenerTls | None:
    given = _server_tls(row, settings)
    try:
        return make(given)
    except TlsConfigError:
        faults += tls_faults(row.name, settings, every_error(given, make))
        return None


def tls_faults(listener_name: str, settings: ListenerSettings, errors: Iterable[TlsConfigError]) -> list[ConfigFault]:
    """What is wrong with TLS settings, each under the key that was read: the listener's own where it is set."""
    faults = []
    for each in errors:
        key, own = settings.key_of(listener_name, each.key), listener_prefix(listener_name) + each.key
        remedy = f"Set {each.key}, or {own} for this listener alone" if key != own else "Change it, or leave it out"
        faults.append(ConfigFault(key, listener_name, each.problem, remedy))
    return faults


def login_module(
    listener_name: str, mechanism: str, settings: ListenerSettings, jaas_file: JaasFile
) -> LoginModule | None:
    """The server's login module of a mechanism, None when there is none. JaasError."""
    text = settings.for_mechanism(mechanism, _JAAS_KEY)
    if text is not None:
        return parse_jaas_config(text)
    return jaas_file.server_module(listener_name, mechanism)


def usable_login_module(
    listener_name: str, mechanism: str, settings: ListenerSettings, jaas_file: JaasFile, faults: list[ConfigFault]
) -> LoginModule | None:
    """The login module of a mechanism that is needed, or None after adding why there is none. A broker that dials a
    peer's listener uses it as client too."""
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
    keepers: list[JwksKeeper],
) -> SaslMechanism | None:
    if name not in SUPPORTED_MECHANISMS:
        key = settings.key_of(row.name, ENABLED_MECHANISMS_KEY)
        problem = f"is not supported, and {row.name} needs mechanisms"
        faults.append(ConfigFault(key, name, problem, f"Use some of {', '.join(SUPPORTED_MECHANISMS)}"))
        return None
    module = usable_login_module(row.name, name, settings, jaas_file, faults)
    if module is None:
        return None
    return build_mechanism(MechanismParts(row.name, name, settings, module, scram_credentials, faults, keepers))


def client_auth(row: ListenerRow, settings: ListenerSettings) -> str:
    """Whether certificates of clients are asked for on a TLS listener: none, requested or required."""
    if row.security_protocol is SecurityProtocol.SASL_SSL and _CLIENT_AUTH_KEY not in settings.own:
        return "none"  # on SASL_SSL the global key is meant for SSL listeners
    return settings.text(_CLIENT_AUTH_KEY)


def _server_tls(row: ListenerRow, settings: ListenerSettings) -> TlsSettings:
    return replace(tls_settings(settings.text, settings.names), client_auth=client_auth(row, settings))
