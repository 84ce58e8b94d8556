"""OpenSSL contexts from Kafka's ssl.* settings.

Python passes private keys to OpenSSL as files. PEM text is written to a file in memory, so that an unencrypted key is
never on disk. Where the system has none (clients also run elsewhere), a private temporary file is used, which is
deleted when the context is made.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from signalbox.security.tls.cipher_suites import choose_suites
from signalbox.security.tls.settings import TlsConfigError, TlsSettings, tls_settings
from signalbox.security.tls.stores import KeyEntry, Stores, open_stores

_PROVIDER_DEFAULTS = {
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "ssl.protocol": "TLSv1.3",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.client.auth": "none",
}
_OWN_FILES = "/proc/self/fd"
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: TlsSettings, stores: Stores | None = None) -> ssl.SSLContext:
    """For a listener, with `stores` or those that `settings` names now. TlsConfigError names the key that is wrong."""
    if settings.client_auth not in _CLIENT_AUTH:
        raise TlsConfigError("ssl.client.auth", f"{settings.client_auth!r} is not none, requested or required")
    _version_of_context(settings)
    stores = stores or open_stores(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, settings)
    if stores.key_entry is None:
        raise TlsConfigError("ssl.keystore.location", "a TLS listener needs a private key and a certificate")
    _load_identity(context, stores.key_entry)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    if stores.trusted is not None:
        _load_trust(context, stores.trusted, stores.trusted_source)
    elif context.verify_mode is not ssl.CERT_NONE:
        raise TlsConfigError("ssl.truststore.location", "client certificates cannot be checked without trusted ones")
    return context


def client_context(settings: TlsSettings, stores: Stores | None = None) -> ssl.SSLContext:
    """For outbound connections. Without a truststore the system's certificates are trusted."""
    algorithm = settings.endpoint_identification_algorithm.strip().lower()
    if algorithm not in ("https", ""):
        raise TlsConfigError(
            "ssl.endpoint.identification.algorithm", f"{algorithm!r} is not https, nor empty for no check of the name"
        )
    highest = _version_of_context(settings)
    stores = stores or open_stores(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _set_versions(context, settings, highest)
    context.check_hostname = algorithm == "https"
    if stores.key_entry is not None:
        _load_identity(context, stores.key_entry)
    if stores.trusted is not None:
        _load_trust(context, stores.trusted, stores.trusted_source)
    else:
        context.load_default_certs()
    return context


def _version_of_context(settings: TlsSettings) -> ssl.TLSVersion:
    """ssl.protocol: it makes Java's context, and limits the versions of clients (KIP-573); TLS is no limit."""
    if settings.protocol == "TLS":
        return ssl.TLSVersion.TLSv1_3
    if settings.protocol not in _VERSIONS:
        raise TlsConfigError("ssl.protocol", f"{settings.protocol!r} is not TLS, TLSv1.2 or TLSv1.3")
    return _VERSIONS[settings.protocol]


def _set_versions(
    context: ssl.SSLContext, settings: TlsSettings, highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> None:
    unknown = [name for name in settings.enabled_protocols if name not in _VERSIONS]
    if unknown or not settings.enabled_protocols:
        raise TlsConfigError("ssl.enabled.protocols", f"{', '.join(unknown) or 'nothing'} is not TLSv1.2 or TLSv1.3")
    versions = [_VERSIONS[name] for name in settings.enabled_protocols]
    if min(versions) > highest:
        raise TlsConfigError("ssl.protocol", f"{settings.protocol} is below every version of ssl.enabled.protocols")
    context.options |= ssl.OP_NO_RENEGOTIATION  # each would cost a handshake, as often as the peer wants
    context.minimum_version, context.maximum_version = min(versions), min(max(versions), highest)
    if settings.cipher_suites:
        choose_suites(context, settings.cipher_suites)


def _load_trust(context: ssl.SSLContext, pem: str, source: str) -> None:
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError) as error:
        raise TlsConfigError(source, f"holds no usable certificates: {error}") from error


def _load_identity(context: ssl.SSLContext, entry: KeyEntry) -> None:
    with _private_file(entry.private_key + entry.chain) as path:
        try:
            # Without a password OpenSSL would prompt at the terminal.
            context.load_cert_chain(path, password=entry.password if entry.password is not None else lambda: "")
        except (ssl.SSLError, OSError) as error:
            raise TlsConfigError(entry.source, f"no usable private key with its certificate: {error}") from error


@contextmanager
def _private_file(text: str) -> Iterator[str]:
    if not hasattr(os, "memfd_create") or not os.path.isdir(_OWN_FILES):
        with _temporary_file(text) as path:
            yield path
        return
    with open(os.memfd_create("signalbox-key"), "w") as file:
        file.write(text)
        file.flush()
        yield f"{_OWN_FILES}/{file.fileno()}"


@contextmanager
def _temporary_file(text: str) -> Iterator[str]:
    descriptor, path = tempfile.mkstemp(prefix="signalbox-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)


def provider_context(options: Mapping[str, str]) -> ssl.SSLContext:
    """TLS of connections to an identity provider: from the `ssl.*` options of the login module, as in Kafka, not from
    the broker's own keys. Missing options have their defaults, so a module without them trusts the system's
    authorities; reading these takes some milliseconds. TlsConfigError names the invalid option."""

    def text(key: str) -> str:
        return options.get(key, _PROVIDER_DEFAULTS.get(key, ""))

    return client_context(tls_settings(text, lambda key: [item.strip() for item in text(key).split(",") if item]))
