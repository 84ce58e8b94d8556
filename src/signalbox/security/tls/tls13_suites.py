"""TLS 1.3's cipher suites, which Python's `ssl` lets nobody choose before version 3.15.

OpenSSL keeps them in a list of its own (SSL_CTX_set_ciphersuites). Where `SSLContext.set_ciphersuites` is missing, that
function is called on the SSL_CTX that CPython keeps as the first field of the object: so in each version from 3.11 to
3.14, the only ones in which it is done. Afterwards the context is asked what it would use, and anything but the wish
counts as a failure: the caller then refuses the configuration rather than serve with other suites.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Sequence

TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""What OpenSSL offers by default; the two CCM suites of RFC 8446 exist in neither Java's list nor that."""


def set_tls_1_3_suites(context: ssl.SSLContext, names: Sequence[str]) -> bool:
    """Whether `context` now has exactly these suites of TLS 1.3."""
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
