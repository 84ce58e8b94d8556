"""TLS contexts from Kafka's ssl.* settings: PEM files, PEM text in the configuration, PKCS12 stores.

Kafka's JKS stores are Java's own and are refused with the way to convert them. PKCS12 needs the `cryptography` package,
imported only then. OpenSSL reads certificates and keys from files: PEM text goes through a private temporary file that
is gone when the context stands.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class TlsConfigError(ValueError):
    """`key` is the setting to change."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The ssl.* values that make a context. "" is unset."""

    keystore_type: str = "PEM"
    keystore_location: str = ""
    keystore_password: str = ""
    keystore_key: str = ""
    keystore_certificate_chain: str = ""
    key_password: str = ""
    truststore_type: str = "PEM"
    truststore_location: str = ""
    truststore_password: str = ""
    truststore_certificates: str = ""
    client_auth: str = "none"
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    endpoint_identification_algorithm: str = "https"


_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def tls_settings(text: Callable[[str], str], names: Callable[[str], list[str]]) -> TlsSettings:
    """Settings from a configuration's view: `text(key)` and `names(key)` for the list-valued keys."""
    return TlsSettings(
        keystore_type=text("ssl.keystore.type"),
        keystore_location=text("ssl.keystore.location"),
        keystore_password=text("ssl.keystore.password"),
        keystore_key=text("ssl.keystore.key"),
        keystore_certificate_chain=text("ssl.keystore.certificate.chain"),
        key_password=text("ssl.key.password"),
        truststore_type=text("ssl.truststore.type"),
        truststore_location=text("ssl.truststore.location"),
        truststore_password=text("ssl.truststore.password"),
        truststore_certificates=text("ssl.truststore.certificates"),
        client_auth=text("ssl.client.auth"),
        enabled_protocols=tuple(names("ssl.enabled.protocols")),
        cipher_suites=tuple(names("ssl.cipher.suites")),
        endpoint_identification_algorithm=text("ssl.endpoint.identification.algorithm"),
    )


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """For a listener. TlsConfigError names the key that is wrong."""
    if settings.client_auth not in _CLIENT_AUTH:
        raise TlsConfigError("ssl.client.auth", f"{settings.client_auth!r} is not none, requested or required")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_up(context, settings)
    if not _load_identity(context, settings):
        raise TlsConfigError("ssl.keystore.location", "a TLS listener needs a private key and a certificate")
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    if not _load_trust(context, settings) and context.verify_mode is not ssl.CERT_NONE:
        raise TlsConfigError("ssl.truststore.location", "client certificates cannot be checked without trusted ones")
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """For outbound connections. Without a truststore the system's certificates are trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _set_up(context, settings)
    context.check_hostname = settings.endpoint_identification_algorithm.lower() == "https"
    _load_identity(context, settings)
    if not _load_trust(context, settings):
        context.load_default_certs()
    return context


def distinguished_name(certificate: Mapping[str, Any]) -> str:
    """The subject as Java prints it: most specific part first, comma-separated (what Kafka makes the principal)."""
    parts = []
    for relative_name in reversed(certificate.get("subject", ())):
        parts.append("+".join(f"{_SHORT.get(kind, kind)}={_escape(value)}" for kind, value in relative_name))
    return ",".join(parts)


_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "domainComponent": "DC",
    "streetAddress": "STREET",
    "userId": "UID",
}


def _escape(value: str) -> str:
    escaped = "".join("\\" + char if char in ',+"\\<>;' else char for char in value)
    return "\\" + escaped if escaped.startswith(("#", " ")) else escaped


def _set_up(context: ssl.SSLContext, settings: TlsSettings) -> None:
    unknown = [name for name in settings.enabled_protocols if name not in _VERSIONS]
    if unknown or not settings.enabled_protocols:
        raise TlsConfigError("ssl.enabled.protocols", f"{', '.join(unknown) or 'nothing'} is not TLSv1.2 or TLSv1.3")
    versions = [_VERSIONS[name] for name in settings.enabled_protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if settings.cipher_suites:
        try:
            context.set_ciphers(":".join(settings.cipher_suites))
        except ssl.SSLError as error:
            raise TlsConfigError("ssl.cipher.suites", f"OpenSSL takes none of them: {error}") from error


def _load_identity(context: ssl.SSLContext, settings: TlsSettings) -> bool:
    """Private key and chain, from whichever place is set; False when none is."""
    password = settings.key_password or settings.keystore_password or None
    if settings.keystore_key:
        pem = settings.keystore_key + "\n" + settings.keystore_certificate_chain
        _load_chain(context, pem, password, "ssl.keystore.key")
        return True
    if not settings.keystore_location:
        return False
    key = "ssl.keystore.location"
    if _store_type(settings.keystore_type, "ssl.keystore.type") == "PEM":
        # `password` only counts for an encrypted key; OpenSSL does not ask otherwise.
        _load_chain(context, _read(settings.keystore_location, key).decode(errors="replace"), password, key)
    else:
        data = _read(settings.keystore_location, key)
        private_key, chain = _open_pkcs12(data, settings.keystore_password, "ssl.keystore.password")
        if not private_key:
            raise TlsConfigError(key, "the store holds no private key")
        _load_chain(context, private_key + chain, None, key)
    return True


def _load_trust(context: ssl.SSLContext, settings: TlsSettings) -> bool:
    key = "ssl.truststore.location"
    if settings.truststore_certificates:
        pem, key = settings.truststore_certificates, "ssl.truststore.certificates"
    elif not settings.truststore_location:
        return False
    elif _store_type(settings.truststore_type, "ssl.truststore.type") == "PEM":
        pem = _read(settings.truststore_location, key).decode(errors="replace")
    else:
        data = _read(settings.truststore_location, key)
        pem = _open_pkcs12(data, settings.truststore_password, "ssl.truststore.password")[1]
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError) as error:
        raise TlsConfigError(key, f"holds no certificates in PEM: {error}") from error
    return True


def _load_chain(context: ssl.SSLContext, pem: str, password: str | None, key: str) -> None:
    with _private_file(pem) as path:
        try:
            # An empty password would make OpenSSL ask at the terminal.
            context.load_cert_chain(path, password=password if password is not None else lambda: "")
        except (ssl.SSLError, OSError) as error:
            raise TlsConfigError(key, f"no usable private key with its certificate: {error}") from error


def _store_type(text: str, key: str) -> str:
    kind = text.strip().upper()
    if kind == "JKS":
        raise TlsConfigError(
            key,
            "JKS stores are Java's own; convert them: "
            "keytool -importkeystore -srckeystore X -destkeystore Y -deststoretype PKCS12",
        )
    if kind not in ("PEM", "PKCS12"):
        raise TlsConfigError(key, f"{text!r} is neither PEM nor PKCS12")
    return kind


def _read(location: str, key: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise TlsConfigError(key, f"{location} cannot be read: {error.strerror}") from error


def _open_pkcs12(data: bytes, password: str, key: str) -> tuple[str, str]:
    """(private key, certificates) in PEM."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise TlsConfigError(key, "the PKCS12 store cannot be opened: wrong password, or no such store") from error
    private_key = ""
    if store.key is not None:
        encoded = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        private_key = encoded.decode()
    certificates = ([store.cert] if store.cert is not None else []) + list(store.additional_certs)
    return private_key, "".join(item.certificate.public_bytes(Encoding.PEM).decode() for item in certificates)


@contextmanager
def _private_file(text: str) -> Iterator[str]:
    descriptor, path = tempfile.mkstemp(prefix="signalbox-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)
