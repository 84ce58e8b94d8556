"""What guards a listener: its TLS and its SASL mechanisms, from its settings (L5-L7); the TLS part can be renewed.

Where a mechanism's login module comes from (facts 1.9): `listener.name.<l>.<mechanism>.sasl.jaas.config`, else the JAAS
file's section `<listener>.KafkaServer`, else `KafkaServer`. A `sasl.jaas.config` without mechanism is ignored on a
server, as in Kafka. Every enabled mechanism of a SASL listener must have one, or the start is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from signalbox.common.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.listener_table import ListenerRow, ListenerTable
from signalbox.network.network_settings import ListenerSettings, NetworkSettings
from signalbox.network.plane import CONTROL
from signalbox.security.jaas import JaasError, JaasFile, LoginModule, parse_jaas_config, parse_jaas_file
from signalbox.security.sasl.jaas_credentials import JaasScramCredentials
from signalbox.security.sasl.mechanism import SaslMechanism
from signalbox.security.sasl.plain import PLAIN, PlainMechanism
from signalbox.security.sasl.scram import ScramCredentials, ScramMechanism
from signalbox.security.sasl.scram_messages import SCRAM_MECHANISMS
from signalbox.security.tls.listener_tls import ListenerTls, listener_tls, renewed_listener_tls
from signalbox.security.tls.settings import TlsConfigError, TlsSettings, tls_settings

JAAS_FILE_KEY = "sasl.jaas.file"
_MECHANISMS_KEY = "sasl.enabled.mechanisms"
_CLIENT_AUTH_KEY = "ssl.client.auth"
SUPPORTED_MECHANISMS = (PLAIN, *SCRAM_MECHANISMS)


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """`tls` where the protocol uses TLS; `mechanisms` by Kafka's name where it uses SASL."""

    tls: ListenerTls | None = None
    mechanisms: Mapping[str, SaslMechanism] = field(default_factory=dict)


def build_security(
    table: ListenerTable, settings: NetworkSettings, scram_credentials: ScramCredentials
) -> tuple[dict[str, ListenerSecurity], list[ConfigFault]]:
    """The guards of every listener by name and all that is wrong with them; reads the JAAS file if one is set."""
    jaas_file, faults = read_jaas_file(settings.everywhere.text(JAAS_FILE_KEY))
    guards = {}
    for row in table:
        guards[row.name], more = build_listener_security(row, settings.listener(row.name), jaas_file, scram_credentials)
        faults += more
    return guards, faults


def read_jaas_file(location: str) -> tuple[JaasFile, list[ConfigFault]]:
    """The static JAAS file, an empty one when `location` is "" or faulty."""
    if not location:
        return JaasFile({}), []
    try:
        return JaasFile(parse_jaas_file(Path(location).read_text())), []
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = f"cannot be read: {error}", "Name a JAAS file that this process may read"
    except JaasError as error:
        problem, remedy = str(error), "Write sections of login modules, each ended by ';'"
    return JaasFile({}), [ConfigFault(JAAS_FILE_KEY, location, problem, remedy)]


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
        dialled = row.inter_broker or row.plane == CONTROL
        tls = _or_fault(row, faults, lambda: listener_tls(_server_tls(row, settings), dialled_by_brokers=dialled))
    mechanisms: dict[str, SaslMechanism] = {}
    if row.security_protocol.uses_sasl:
        for name in settings.names(_MECHANISMS_KEY):
            mechanism = _mechanism(name, row, settings, jaas_file, scram_credentials, faults)
            if mechanism is not None:
                mechanisms[name] = mechanism
    return ListenerSecurity(tls, mechanisms), faults


def renew_tls(
    row: ListenerRow, current: ListenerTls, settings: ListenerSettings
) -> tuple[ListenerTls | None, list[ConfigFault]]:
    """What listener `row` would serve TLS with under changed `settings`, or None and what is wrong (KIP-226's checks:
    `security/tls/listener_tls.py`). Nothing is put to use: that is `SocketServer.replace_tls`. Any thread."""
    faults: list[ConfigFault] = []
    return _or_fault(row, faults, lambda: renewed_listener_tls(current, _server_tls(row, settings))), faults


def _or_fault(row: ListenerRow, faults: list[ConfigFault], make: Callable[[], ListenerTls]) -> ListenerTls | None:
    try:
        return make()
    except TlsConfigError as error:
        key = f"listener.name.{row.name.lower()}.{error.key}"
        faults.append(ConfigFault(key, "", error.problem, f"Set it for {row.name} alone or as {error.key}"))
        return None


def login_module(
    listener_name: str, mechanism: str, settings: ListenerSettings, jaas_file: JaasFile
) -> LoginModule | None:
    """The server's login module of a mechanism; a broker that dials a peer's listener uses it as client too."""
    text = settings.for_mechanism(mechanism, "sasl.jaas.config")
    if text is not None:
        return parse_jaas_config(text)
    return jaas_file.server_module(listener_name, mechanism)


def _mechanism(
    name: str,
    row: ListenerRow,
    settings: ListenerSettings,
    jaas_file: JaasFile,
    scram_credentials: ScramCredentials,
    faults: list[ConfigFault],
) -> SaslMechanism | None:
    key = f"listener.name.{row.name.lower()}.{name.lower()}.sasl.jaas.config"
    if name not in SUPPORTED_MECHANISMS:
        faults.append(
            ConfigFault(
                _MECHANISMS_KEY, name, f"is not supported on {row.name}", f"Use {', '.join(SUPPORTED_MECHANISMS)}"
            )
        )
        return None
    try:
        module = login_module(row.name, name, settings, jaas_file)
    except JaasError as error:
        faults.append(ConfigFault(key, "", str(error), "Write one login module, ended by ';'"))
        return None
    if module is None:
        faults.append(
            ConfigFault(
                key,
                "",
                f"the enabled mechanism {name} of {row.name} has no login module",
                f"Set it, or add one to {row.name.lower()}.KafkaServer or KafkaServer of the JAAS file",
            )
        )
        return None
    if name == PLAIN:
        return PlainMechanism(module.users)
    return ScramMechanism(name, JaasScramCredentials(name, module.users, scram_credentials))


def _server_tls(row: ListenerRow, settings: ListenerSettings) -> TlsSettings:
    tls = tls_settings(settings.text, settings.names)
    if row.security_protocol is SecurityProtocol.SASL_SSL and _CLIENT_AUTH_KEY not in settings.own:
        # On SASL_SSL the global key is meant for SSL listeners (facts 1.8).
        return replace(tls, client_auth="none")
    return tls
