"""TLS 1.3's cipher suites, which Python's `ssl` cannot set before version 3.15.

OpenSSL keeps them in a separate list (SSL_CTX_set_ciphersuites). Where `SSLContext.set_ciphersuites` is missing, that
function is called on the SSL_CTX that CPython keeps as the first field of the object. It is so in each version from
3.11 to 3.14, and the call is made in no other. Afterwards the context's suites are read back. Any difference from the
requested suites is a failure: the caller then rejects the configuration rather than serve with other suites.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Sequence

TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""OpenSSL's default suites. The two CCM suites of RFC 8446 are not among them, and not in Java's list."""


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
