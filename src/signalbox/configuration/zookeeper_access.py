"""A broker's access to ZooKeeper: TLS and login, read once for the checks and once for the start.

| what | from |
|---|---|
| TLS | `zookeeper.ssl.*`, made by the same code as the listeners' |
| login | the section `Client` of the JAAS file, which is also the listeners' file (L6) |

Kafka accepts both as the identity that `zookeeper.set.acl` needs, and rejects a section that exists but is switched
off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.network.listeners.jaas_location import JAAS_FILE_KEY, JAVA_PROPERTY, java_property
from signalbox.network.listeners.listener_security import read_jaas_file
from signalbox.network.listeners.network_settings import ListenerSettings
from signalbox.security.jaas import LoginModule
from signalbox.security.tls.collect_errors import collect_errors
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    from signalbox.metadata.store.zookeeper.access import DigestLogin, ZooKeeperAccess

_KEYSTORE, _TRUSTSTORE = "zookeeper.ssl.keystore.location", "zookeeper.ssl.truststore.location"
_KEYSTORE_PASSWORD = "zookeeper.ssl.keystore.password"
_ENABLED = "zookeeper.sasl.client"
_SECTION = "zookeeper.sasl.clientconfig"
_SET_ACL = "zookeeper.set.acl"
_VERSIONS = ("TLSv1.2", "TLSv1.3")
_DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"

ACCESS_KEYS = (JAAS_FILE_KEY, JAVA_PROPERTY)
"""Keys for the access to ZooKeeper that do not begin with `zookeeper.`."""


def access_faults(values: Mapping[str, Value]) -> Iterator[ConfigFault]:
    """Faults of the keys about access to ZooKeeper; reads the files that they name."""
    tls = _tls(values)
    for error in collect_errors(tls, client_context) if tls is not None else ():
        key = _KEYSTORE_PASSWORD if error.key == "ssl.key.password" else f"zookeeper.{error.key}"
        yield ConfigFault(key, _printable(values, key), error.problem, "Change it, or leave it out")
    module, faults = _login_module(values)
    yield from faults
    identified = module is not None or (tls is not None and tls.keystore_location)
    if values[_SET_ACL] and not identified and not faults:
        problem = "needs an identity that ZooKeeper can authenticate"
        remedy = (
            f"Set zookeeper.ssl.client.enable=true and {_KEYSTORE}, "
            f"or write a section {_section(values)} into the JAAS file; else leave it out"
        )
        yield ConfigFault(_SET_ACL, "true", problem, remedy)


def zookeeper_access(values: Mapping[str, Value]) -> ZooKeeperAccess:
    """Returns TLS, login and timeouts for ZooKeeper. `values` have passed `access_faults`."""
    from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess

    tls, session_timeout_ms = _tls(values), values["zookeeper.session.timeout.ms"]
    connection_timeout_ms = values["zookeeper.connection.timeout.ms"] or session_timeout_ms
    assert isinstance(session_timeout_ms, int)
    assert isinstance(connection_timeout_ms, int)
    return ZooKeeperAccess(
        session_timeout_ms=session_timeout_ms,
        connection_timeout_ms=connection_timeout_ms,
        tls=client_context(tls) if tls is not None else None,
        login=_login(values),
        only_creators_write=bool(values[_SET_ACL]),
    )


def _tls(values: Mapping[str, Value]) -> TlsSettings | None:
    """None without TLS. With PEM the keystore's password is the key's, and a truststore has none (ZooKeeper's rule)."""
    if not values["zookeeper.ssl.client.enable"]:
        return None

    def text(key: str) -> str:
        return str(values[key] or "")

    keystore, truststore = text(_KEYSTORE), text(_TRUSTSTORE)
    keystore_is_pem, truststore_is_pem = _is_pem(keystore), _is_pem(truststore)
    enabled, suites = values["zookeeper.ssl.enabled.protocols"], values["zookeeper.ssl.cipher.suites"]
    assert isinstance(enabled, list)
    assert isinstance(suites, list)
    protocol = text("zookeeper.ssl.protocol")
    return TlsSettings(
        keystore_type=text("zookeeper.ssl.keystore.type") or "PEM",
        keystore_location=keystore,
        keystore_password="" if keystore_is_pem else text(_KEYSTORE_PASSWORD),
        key_password=text(_KEYSTORE_PASSWORD) if keystore_is_pem else "",
        truststore_type=text("zookeeper.ssl.truststore.type") or "PEM",
        truststore_location=truststore,
        truststore_password="" if truststore_is_pem else text("zookeeper.ssl.truststore.password"),
        protocol=protocol,
        enabled_protocols=tuple(enabled) or ((protocol,) if protocol in _VERSIONS else _VERSIONS),
        cipher_suites=tuple(suites),
        endpoint_identification_algorithm=text("zookeeper.ssl.endpoint.identification.algorithm"),
    )


def _is_pem(location: str) -> bool:
    with suppress(OSError), open(location, "rb") as file:
        return b"-----BEGIN " in file.read(1 << 20)
    return False


def _login(values: Mapping[str, Value]) -> DigestLogin | None:
    from signalbox.metadata.store.zookeeper.access import DigestLogin

    module, _ = _login_module(values)
    return DigestLogin(module.options["username"], module.options["password"]) if module is not None else None


def _login_module(values: Mapping[str, Value]) -> tuple[LoginModule | None, list[ConfigFault]]:
    """Returns the login module for ZooKeeper, None without one; and its faults."""
    jaas_file, faults = read_jaas_file(ListenerSettings(values, frozenset(), {}))
    section = _section(values)
    modules = jaas_file.sections.get(section)
    if faults or modules is None:
        return None, faults
    location = f"section {section} of {jaas_file.location}"
    if not _is_enabled(values):
        problem = f"switches off the login of {location}"
        return None, [ConfigFault(_ENABLED, "false", problem, "Leave it out, or take the section out")]
    module = next((module for module in modules if module.name == _DIGEST_MODULE), None)
    if module is None:
        remedy = f'Write {_DIGEST_MODULE} required username="..." password="..."; into it, or take it out'
        return None, [ConfigFault(_SECTION, section, f"{location} has no login by DIGEST-MD5", remedy)]
    if not module.options.get("username") or module.options.get("password") is None:
        remedy = "Add those with which this broker logs in at ZooKeeper"
        return None, [ConfigFault(_SECTION, section, f"{location} has no username and password", remedy)]
    return module, []


def _section(values: Mapping[str, Value]) -> str:
    return str(values[_SECTION] or java_property(_SECTION) or "Client")


def _is_enabled(values: Mapping[str, Value]) -> bool:
    enabled = values[_ENABLED]
    return (java_property(_ENABLED) or "true").strip().lower() == "true" if enabled is None else bool(enabled)


def _printable(values: Mapping[str, Value], key: str) -> str:
    """The value of a key, "" for a secret."""
    value = None if key.endswith("password") else values.get(key)
    return ",".join(value) if isinstance(value, list) else str(value or "")
