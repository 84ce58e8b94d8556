"""The client properties of a run: Java's names, as in the file of `--command-config`, for both profiles.

PROPERTIES is the one table of translation. Profile `jars` hands the properties to Java's client (`java_settings.py`),
profile `pypi` to librdkafka (`librdkafka_settings.py`). Keys that decide which records are read belong to the pipeline:
a file that other programs use may set them, and they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.endpoint import SecurityProtocol
from signalbox.security.jaas import MODULE_OF_MECHANISM, JaasError, LoginModule, parse_jaas_config

PROTOCOL, MECHANISM, JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
CALLBACK = "sasl.login.callback.handler.class"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
CREDENTIALS = "sasl.oauthbearer.client.credentials.client."
SCOPE = "sasl.oauthbearer.scope"
OAUTHBEARER = "OAUTHBEARER"
DEFAULT_MECHANISM = "PLAIN"  # as in every other command; Java's client would take GSSAPI

# Java's name, and librdkafka's name for the same; keys with no counterpart in librdkafka are not in the table.
PROPERTIES: Mapping[str, str] = {
    PROTOCOL: "security.protocol",
    MECHANISM: "sasl.mechanism",
    "client.id": "client.id",
    "client.rack": "client.rack",
    "client.dns.lookup": "client.dns.lookup",
    "request.timeout.ms": "socket.timeout.ms",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
    "connections.max.idle.ms": "connections.max.idle.ms",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "reconnect.backoff.max.ms": "reconnect.backoff.max.ms",
    "retry.backoff.ms": "retry.backoff.ms",
    "retry.backoff.max.ms": "retry.backoff.max.ms",
    "metadata.max.age.ms": "metadata.max.age.ms",
    "metadata.recovery.strategy": "metadata.recovery.strategy",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.min.bytes": "fetch.min.bytes",
    "fetch.max.bytes": "fetch.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "check.crcs": "check.crcs",
    "ssl.cipher.suites": "ssl.cipher.suites",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "sasl.kerberos.service.name": "sasl.kerberos.service.name",
}

# Set by the pipeline: where it connects, and that no record is skipped, committed to a group or read too early.
_OF_THE_PIPELINE = frozenset(
    {
        "bootstrap.servers",
        "group.id",
        "group.instance.id",
        "enable.auto.commit",
        "auto.offset.reset",
        "allow.auto.create.topics",
        "isolation.level",
        "interceptor.classes",
        "key.deserializer",
        "value.deserializer",
        "key.serializer",
        "value.serializer",
    }
)


@dataclass(frozen=True, slots=True)
class Login:
    """The SASL login of a client."""

    mechanism: str
    module: LoginModule


def usable(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without those that the pipeline sets itself."""
    return {key: value for key, value in properties.items() if key not in _OF_THE_PIPELINE}


def login_of(properties: Mapping[str, str]) -> Login | None:
    """The SASL login; None if the protocol has none, or if Java's own login modules are used. JaasError."""
    mechanism = properties.get(MECHANISM, DEFAULT_MECHANISM)
    if not _protocol(properties).uses_sasl or mechanism not in MODULE_OF_MECHANISM:
        return None
    return Login(mechanism, parse_jaas_config(properties.get(JAAS, "")))


def property_faults(properties: Mapping[str, str]) -> list[str]:
    """Faults that both profiles have in common, each with its key. No message contains a secret."""
    try:
        login = login_of(properties)
    except KeyError:
        names = ", ".join(SecurityProtocol.__members__)
        return [f"{PROTOCOL} is {properties[PROTOCOL]!r}: expected one of {names}"]
    except JaasError as error:
        return [f"{JAAS}: {error}"]
    if login is None:
        return []
    expected = MODULE_OF_MECHANISM[login.mechanism]
    if login.mechanism not in login.module.mechanisms:
        return [f"{JAAS}: {login.module.name} is not the login module of {login.mechanism}, which is {expected}"]
    needs = () if login.mechanism == OAUTHBEARER else ("username", "password")
    return [f"{JAAS}: {expected} has no {option}" for option in needs if option not in login.module.options]


def _protocol(properties: Mapping[str, str]) -> SecurityProtocol:
    return SecurityProtocol[properties.get(PROTOCOL, "PLAINTEXT").upper()]
