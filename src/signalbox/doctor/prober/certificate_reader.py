"""The certificate that a port presents, trusted or not: one TLS handshake, nothing is sent after it.

Connections that send requests verify the certificate. This one does not, because a certificate that is rejected is the
one to show.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec

from signalbox.doctor.observations import Certificate
from signalbox.security.clean_text import clean_name
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import tls_settings

Clean = Callable[[object], str]
_MAX_NAMES = 64
CONTENTS_UNREAD = (
    "CERTIFICATE_ENDS_SOON, and CERTIFICATE_EXPIRED where the certificate is not verified: "
    "its dates cannot be read, install signalbox-broker[security]"
)


def unverified_context(values: Mapping[str, object]) -> ssl.SSLContext:
    """The TLS context of client properties, without verification: for handshakes that show a certificate only."""

    def text(key: str) -> str:
        return str(values.get(key) or "")

    def names(key: str) -> list[str]:
        value = values.get(key)
        return [str(name) for name in value] if isinstance(value, list) else []

    context = client_context(tls_settings(text, names))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def any_certificate_context() -> ssl.SSLContext:
    """A context for a client that is configured without TLS: it shows whether a port uses TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def read_certificate(ip: str, port: int, host: str, context: ssl.SSLContext, clean: Clean) -> Certificate | None:
    """The certificate at `ip`; None if there is no TLS handshake. The caller limits the time."""
    try:
        _, writer = await asyncio.open_connection(ip, port, ssl=context, server_hostname=host)
    except (OSError, ValueError):
        return None
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.transport.abort()
    return describe_certificate(der, clean) if der else None


def reads_contents() -> bool:
    """Whether more than the fingerprint of a certificate can be read: an optional dependency does it."""
    return find_spec("cryptography") is not None


def describe_certificate(encoded: bytes, clean: Clean) -> Certificate:
    """The parts of a certificate that an operator needs. Without `cryptography` only the fingerprint is known."""
    sha256 = hashlib.sha256(encoded).hexdigest()
    if not reads_contents():
        return Certificate(sha256=sha256)
    try:
        from cryptography import x509

        certificate = x509.load_der_x509_certificate(encoded)
        names: list[str] = []
        for extension in certificate.extensions:
            if isinstance(extension.value, x509.SubjectAlternativeName):
                names += extension.value.get_values_for_type(x509.DNSName)
                names += map(str, extension.value.get_values_for_type(x509.IPAddress))
        return Certificate(
            subject=clean(certificate.subject.rfc4514_string()),
            issuer=clean(certificate.issuer.rfc4514_string()),
            names=tuple(clean_name(name) for name in names[:_MAX_NAMES]),
            not_before=_iso(certificate.not_valid_before_utc),
            not_after=_iso(certificate.not_valid_after_utc),
            sha256=sha256,
        )
    except Exception:  # a peer may send any bytes, and x509 has errors of its own that are no ValueError
        return Certificate(sha256=sha256)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
