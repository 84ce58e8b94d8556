"""Sets cipher suites in an OpenSSL context, by Java's names, which Kafka's users write.

Java and the standard have TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 where OpenSSL has ECDHE-RSA-AES128-GCM-SHA256; both are
accepted. TLS 1.3's have one name everywhere. A list without a suite of a TLS version disables that version, as in Java.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from signalbox.security.tls.settings import TlsConfigError
from signalbox.security.tls.tls13_suites import TLS_1_3_SUITES, set_tls_1_3_suites

KEY = "ssl.cipher.suites"

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
