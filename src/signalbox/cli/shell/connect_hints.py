"""From a failed connection to the key, address or option that is likely wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signalbox.client.client_settings import ClientSettings
from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    ConfigRejected,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    FurtherConnectionClosed,
    PeerBroke,
    VersionUnsupported,
)
from signalbox.common.visible_text import one_line

_TWICE = re.compile(r"^([A-Z_]+: )\1")  # some brokers begin a message with the name of the error
_NO_SASL = "the listener has no SASL"  # `client/connection/handshake.py`
_LONGEST = 4_000  # characters of an error
_ALERT = "tls failed"  # TLS 1.3: the broker rejects a client's certificate after the client's handshake has ended


def explained(error: Exception, settings: ClientSettings | None, bootstrap: str) -> str:
    """The error with a line for what was tried and what to check. Other errors stay as they are."""
    failure: BaseException = error
    if isinstance(error, DeadlinePassed) and isinstance(error.__cause__, ClientFailure):
        failure = error.__cause__
    if settings is None or not isinstance(failure, ConnectFailed | ConnectionLost | VersionUnsupported):
        return _TWICE.sub(r"\1", _lines(error))
    lines = [_lines(error), *_hints(failure, settings)]
    protocol = _protocol(settings)
    lines.append(
        f"Tried {bootstrap} with security.protocol={protocol}; time to connect {settings.connect_timeout_ms} ms"
        " (socket.connection.setup.timeout.ms)."
    )
    return "\n".join(lines)


def _lines(error: Exception) -> str:
    """The text of an error; one line, if a broker may have written it."""
    if isinstance(error, ConfigRejected):  # a line for each fault, which escapes what cannot be printed
        return str(error)
    return one_line(str(error), _LONGEST)


def _protocol(settings: ClientSettings) -> str:
    encrypted = settings.security.tls is not None
    if settings.security.sasl is not None:
        return "SASL_SSL" if encrypted else "SASL_PLAINTEXT"
    return "SSL" if encrypted else "PLAINTEXT"


def _hints(failure: ClientFailure, settings: ClientSettings) -> Iterator[str]:
    if isinstance(failure, VersionUnsupported):
        yield "The listener does not serve clients (a listener of brokers or controllers): take the port of another."
        return
    assert isinstance(failure, ConnectFailed | ConnectionLost)
    if isinstance(failure, FurtherConnectionClosed):
        yield (
            "Raise max.connections.per.ip or max.connections of the broker or listener, or end other clients of this"
            " host: a member of a group needs up to five connections to one broker."
        )
        return
    if failure.address not in settings.bootstrap:
        advertised = one_line(str(failure.address), 300)
        yield (
            f"A broker advertises {advertised}, which cannot be used from here: check advertised.listeners of the"
            " listener, DNS and port maps (`signalbox doctor` examines every address)."
        )
    if isinstance(failure, AuthenticationRejected) and _NO_SASL in failure.problem:
        protocol = "PLAINTEXT" if settings.security.tls is None else "SSL"
        yield f"The listener has no login: set security.protocol to {protocol} in the file of --command-config."
    elif isinstance(failure, AuthenticationRejected):
        yield "Check sasl.mechanism and the user and password in sasl.jaas.config of --command-config."
    elif isinstance(failure, ConnectFailed):
        yield from _stage_hints(failure, settings)
    else:
        yield _closed(settings)


def _stage_hints(failure: ConnectFailed, settings: ClientSettings) -> Iterator[str]:
    text = failure.problem.lower()
    if failure.stage == "resolve" and failure.address not in settings.bootstrap:
        return  # the address of a broker, not the one that was given
    if failure.stage == "resolve":
        yield "Check the host name in --bootstrap-server."
    elif failure.stage == "tcp" and isinstance(failure.__cause__, ConnectionRefusedError):
        yield "Nothing listens at this port: check host and port, and whether the broker runs."
    elif failure.stage == "tcp":
        yield "No connection was established: check host and port, and firewalls between here and there."
    elif failure.stage == "tls" or _ALERT in text:
        yield _tls_hint(text)
    elif isinstance(failure, PeerBroke) and "tls" in text:
        yield "The listener speaks TLS: set security.protocol to SSL or SASL_SSL in the file of --command-config."
    elif isinstance(failure, PeerBroke) and "http" in text:
        yield "The port is one of HTTP, as that of a metrics page: take the port of a broker's listener."
    elif isinstance(failure, PeerBroke):
        yield f"The port does not speak Kafka's protocol by {_protocol(settings)}: check port and security.protocol."
    else:
        yield _closed(settings)


def _tls_hint(text: str) -> str:
    if "hostname" in text or "host name" in text or "ip address mismatch" in text:
        return "The certificate is for another host: use a name in it, or check ssl.endpoint.identification.algorithm."
    if "our certificate" in text:
        return "The broker does not accept the certificate in ssl.keystore.location: its truststore needs the issuer."
    if "certificate verify failed" in text or "self-signed" in text or "self signed" in text or "issuer" in text:
        return "The broker's certificate is not trusted: set ssl.truststore.location to its authority."
    if "client certificate" in text or ("certificate" in text and "required" in text):
        return "The listener requires a client certificate: set ssl.keystore.location."
    return "The listener may not speak TLS: check the port and security.protocol (PLAINTEXT or SASL_PLAINTEXT)."


def _closed(settings: ClientSettings) -> str:
    protocol = _protocol(settings)
    others = {
        "PLAINTEXT": "SSL, SASL_SSL or SASL_PLAINTEXT",
        "SSL": "SASL_SSL, or a client certificate in ssl.keystore.location",
        "SASL_PLAINTEXT": "SASL_SSL or PLAINTEXT",
        "SASL_SSL": "SSL",
    }[protocol]
    return (
        f"The listener may expect another security.protocol than {protocol} ({others}): set it in the file of"
        " --command-config. A listener of brokers closes clients' connections: take the port of one for clients. A"
        " listener at its limit (max.connections, max.connections.per.ip) closes them, too."
    )
