"""Keystores and truststores: PEM as text in the configuration, PEM files, PKCS12 files.

Kafka's rules decide which keys go together (DefaultSslEngineFactory): text and location exclude each other, PEM has no
store password, a keystore file of another type needs one. The first bytes show what a file is: `ssl.keystore.type` is
PEM by default here and JKS in Kafka, where JKS opens PKCS12 stores as well (Java's keystore.type.compat), so a PKCS12
store is accepted under each of these types. Java's own JKS and JCEKS are rejected; the error says how to convert them.

PKCS12 needs the `cryptography` package, imported only then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from signalbox.common.small_file import read_small_file
from signalbox.security.tls.settings import TlsConfigError, TlsSettings

_TYPES = ("PEM", "PKCS12", "JKS")
_JAVA_STORES = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_DER_SEQUENCE = b"\x30"
_CONVERT = "convert it: keytool -importkeystore -srckeystore OLD -destkeystore NEW -deststoretype PKCS12"
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATE = "CERTIFICATE"
_PRIVATE_KEY = "PRIVATE KEY"


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key with its chain, own certificate first, all in PEM. `password` decrypts the key; None: it is not
    encrypted. `source` is the setting it came from."""

    private_key: str = field(repr=False)
    chain: str
    password: str | None = field(repr=False)
    source: str


@dataclass(frozen=True, slots=True)
class Stores:
    """The opened stores; None where nothing is configured. `trusted` is PEM, `trusted_source` the setting. `files` are
    the modification times of the files that were read, in nanoseconds."""

    key_entry: KeyEntry | None
    trusted: str | None
    trusted_source: str
    files: Mapping[str, int]


def open_stores(settings: TlsSettings) -> Stores:
    """Read the files now. TlsConfigError names the setting that is wrong; no message holds a secret."""
    files = written_at(filter(None, (settings.keystore_location, settings.truststore_location)))
    trusted, source = _open_truststore(settings)
    return Stores(_open_keystore(settings), trusted, source, files)


def written_at(paths: Iterable[str]) -> dict[str, int]:
    """The modification time of each of the files that exist, in nanoseconds."""
    times = {}
    for path in paths:
        with suppress(OSError):
            times[path] = os.stat(path).st_mtime_ns
    return times


def _open_keystore(settings: TlsSettings) -> KeyEntry | None:
    key = "ssl.keystore.key"
    if settings.keystore_key:
        _reject_beside_text(
            "ssl.keystore", settings.keystore_type, settings.keystore_location, settings.keystore_password
        )
        if not settings.keystore_certificate_chain:
            raise TlsConfigError("ssl.keystore.certificate.chain", "is missing beside ssl.keystore.key")
        return _pem_entry(settings.keystore_key, settings.keystore_certificate_chain, settings.key_password, key)
    if settings.keystore_certificate_chain:
        raise TlsConfigError(key, "is missing beside ssl.keystore.certificate.chain")
    if not settings.keystore_location:
        if settings.keystore_password:
            raise TlsConfigError("ssl.keystore.location", "is missing beside ssl.keystore.password")
        return None
    key = "ssl.keystore.location"
    data = _read_store(settings.keystore_location, "ssl.keystore", settings.keystore_type)
    if not data.startswith(_DER_SEQUENCE):
        if settings.keystore_password:
            raise TlsConfigError(
                "ssl.keystore.password", "a PEM file has no store password; ssl.key.password opens an encrypted key"
            )
        pem = data.decode(errors="replace")
        return _pem_entry(pem, pem, settings.key_password, key)
    if not settings.keystore_password:
        raise TlsConfigError("ssl.keystore.password", f"is missing: {settings.keystore_location} is a PKCS12 store")
    private_key, chain = _open_pkcs12(data, settings.keystore_password, "ssl.keystore.password")
    if not private_key:
        raise TlsConfigError(key, f"{settings.keystore_location} holds no private key")
    return KeyEntry(private_key, chain, None, key)


def _open_truststore(settings: TlsSettings) -> tuple[str | None, str]:
    key = "ssl.truststore.certificates"
    if settings.truststore_certificates:
        _reject_beside_text(
            "ssl.truststore", settings.truststore_type, settings.truststore_location, settings.truststore_password
        )
        return _certificates(settings.truststore_certificates, key), key
    key = "ssl.truststore.location"
    if not settings.truststore_location:
        if settings.truststore_password:
            raise TlsConfigError(key, "is missing beside ssl.truststore.password")
        return None, key
    data = _read_store(settings.truststore_location, "ssl.truststore", settings.truststore_type)
    if data.startswith(_DER_SEQUENCE):
        trusted = _open_pkcs12(data, settings.truststore_password, "ssl.truststore.password")[1]
        if not trusted:
            raise TlsConfigError(key, f"{settings.truststore_location} holds no certificate")
        return trusted, key
    if settings.truststore_password:
        raise TlsConfigError("ssl.truststore.password", "a PEM file has no store password")
    return _certificates(data.decode(errors="replace"), key), key


def _reject_beside_text(prefix: str, kind: str, location: str, password: str) -> None:
    if kind.strip().upper() != "PEM":
        raise TlsConfigError(f"{prefix}.type", f"is {kind}, but text in the configuration is PEM")
    if location:
        raise TlsConfigError(f"{prefix}.location", "is set beside the same as text: only one of the two can hold")
    if password:
        raise TlsConfigError(f"{prefix}.password", "PEM text has no store password")


def _read_store(location: str, prefix: str, kind: str) -> bytes:
    if kind.strip().upper() not in _TYPES:
        raise TlsConfigError(f"{prefix}.type", f"{kind!r} is neither PEM nor PKCS12")
    try:
        data = read_small_file(location)
    except OSError as error:
        raise TlsConfigError(f"{prefix}.location", f"{location} cannot be read: {error.strerror}") from error
    java = _JAVA_STORES.get(data[:4])
    if java is not None:
        raise TlsConfigError(f"{prefix}.type", f"{location} is a {java} store, which only Java reads; {_CONVERT}")
    return data


def _pem_entry(key_text: str, chain_text: str, password: str, source: str) -> KeyEntry:
    keys = [block for label, block in _blocks(key_text) if label.endswith(_PRIVATE_KEY)]
    if len(keys) != 1:
        raise TlsConfigError(source, f"expected one private key in PEM, found {len(keys)}")
    chain_source = "ssl.keystore.certificate.chain" if source == "ssl.keystore.key" else source
    return KeyEntry(keys[0], _certificates(chain_text, chain_source), password or None, source)


def _certificates(text: str, key: str) -> str:
    certificates = [block for label, block in _blocks(text) if label == _CERTIFICATE]
    if not certificates:
        raise TlsConfigError(key, "holds no certificate in PEM")
    return "".join(certificates)


def _blocks(text: str) -> list[tuple[str, str]]:
    """(label, block) of every PEM block. Properties often have a block on one line, with spaces for line ends."""
    blocks = []
    for label, body in _BLOCK.findall(text):
        if ":" not in body:  # else the block has headers, whose lines must stay as they are
            packed = "".join(body.split())
            body = "\n" + "\n".join(packed[start : start + 64] for start in range(0, len(packed), 64)) + "\n"
        blocks.append((label, f"-----BEGIN {label}-----{body}-----END {label}-----\n"))
    return blocks


def _open_pkcs12(data: bytes, password: str, key: str) -> tuple[str, str]:
    """(private key or "", certificates, own first) in PEM."""
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    except ImportError as error:
        raise TlsConfigError(key, "PKCS12 stores need the extra security: pip install cryptography") from error
    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise TlsConfigError(
            key,
            "the PKCS12 store cannot be opened: wrong password, no such store, or its key has a password of its own",
        ) from error
    private_key = ""
    if store.key is not None:
        private_key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    certificates = ([store.cert] if store.cert is not None else []) + list(store.additional_certs)
    return private_key, "".join(item.certificate.public_bytes(Encoding.PEM).decode() for item in certificates)
