"""Sets cipher suites in an OpenSSL context, by Java's names, which Kafka's users write.

Java and the standard have TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 where OpenSSL has ECDHE-RSA-AES128-GCM-SHA256; both are
accepted. TLS 1.3's have one name everywhere. A list without a suite of a TLS version disables that version, as in Java.

TLS 1.3's suites are a list of their own in OpenSSL (SSL_CTX_set_ciphersuites), which Python's `ssl` cannot set before
version 3.15. Where `SSLContext.set_ciphersuites` is missing, that function is called on the SSL_CTX that CPython keeps
as the first field of the object. It is so in each version from 3.11 to 3.14, and the call is made in no other.
Afterwards the context's suites are read back. Any difference from the requested suites is a failure: the configuration
is rejected, rather than served with other suites.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Sequence

from signalbox.security.tls.settings import TlsConfigError

KEY = "ssl.cipher.suites"

TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""OpenSSL's default suites. The two CCM suites of RFC 8446 are not among them, and not in Java's list."""

# TLS_<key exchange>_WITH_<cipher>
_KEY_EXCHANGES = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "DHE_DSS": "DHE-DSS-",
    "RSA": "",
}
_CIPHERS = {
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_128_CBC_SHA": "AES128-SHA",
}
JAVA_NAMES = {
    f"TLS_{exchange}_WITH_{cipher}": prefix + name
    for exchange, prefix in _KEY_EXCHANGES.items()
    for cipher, name in _CIPHERS.items()
}
"""Java's name → OpenSSL's name, for TLS 1.2. A few of these combinations do not exist; OpenSSL does not accept them."""


def choose_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Let `context` use these suites and no others; its TLS versions are limited to those that have one.
    TlsConfigError names each suite that is not available."""
    latest = [name for name in names if name in TLS_1_3_SUITES]
    older = {name: JAVA_NAMES.get(name, name) for name in names if name not in TLS_1_3_SUITES}
    unknown = [name for name, openssl_name in older.items() if not _exists(openssl_name)]
    if unknown:
        raise TlsConfigError(KEY, f"{', '.join(unknown)}: no such cipher suite, or OpenSSL does not have it any more")
    if older:
        context.set_ciphers(":".join(older.values()))
    else:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if not latest:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif not set_tls_1_3_suites(context, latest):
        missing = sorted(TLS_1_3_SUITES - set(latest))
        raise TlsConfigError(
            KEY, f"this Python cannot leave out {', '.join(missing)}: name all of TLS 1.3's suites, or none of them"
        )
    if context.minimum_version > context.maximum_version:
        raise TlsConfigError(KEY, "none of the suites belongs to a version of ssl.enabled.protocols")


def _exists(name: str) -> bool:
    """Whether OpenSSL has the suite for certificates; an expression like ECDHE+AESGCM is not a suite."""
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        probe.set_ciphers(f"{name}:!aNULL:!eNULL")
    except ssl.SSLError:
        return False
    return any(suite["name"] == name for suite in probe.get_ciphers())


def set_tls_1_3_suites(context: ssl.SSLContext, names: Sequence[str]) -> bool:
    """Set these suites of TLS 1.3; whether `context` now has exactly these."""
    if set(names) == TLS_1_3_SUITES:
        return True
    official = getattr(context, "set_ciphersuites", None)
    if official is not None:
        official(":".join(names))
    elif sys.implementation.name == "cpython" and sys.version_info < (3, 15):
        _set_by_openssl(context, ":".join(names).encode())
    return {suite["name"] for suite in context.get_ciphers() if suite["protocol"] == "TLSv1.3"} == set(names)


def _set_by_openssl(context: ssl.SSLContext, names: bytes) -> None:
    """Does nothing where OpenSSL's functions cannot be reached (a Python with OpenSSL built in and hidden)."""
    import _ssl
    import ctypes

    try:
        choose = ctypes.PyDLL(_ssl.__file__).SSL_CTX_set_ciphersuites
    except (AttributeError, OSError):
        return
    choose.argtypes, choose.restype = (ctypes.c_void_p, ctypes.c_char_p), ctypes.c_int
    choose(ctypes.c_void_p.from_address(id(context) + object.__basicsize__), names)
