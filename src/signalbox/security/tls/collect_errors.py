"""Finds all errors in TLS settings, not only the first: the functions that make a context stop at the first error.

After each error its keys are reset to values without an error, and the rest is tried again. Without a usable keystore
no listener context can be made; the rest is then tried as a client context, which needs no keystore.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsConfigError, TlsSettings

_DEFAULTS = TlsSettings()
_WITHOUT_KEYSTORE = {"keystore_location": "", "keystore_key": "", "keystore_certificate_chain": ""}
_WITHOUT_TRUSTSTORE = {"truststore_location": "", "truststore_certificates": "", "client_auth": "none"}
# Prefix of a key → the settings as if the key were not configured.
_HARMLESS: Mapping[str, Mapping[str, object]] = {
    "ssl.key": _WITHOUT_KEYSTORE,
    "ssl.truststore": _WITHOUT_TRUSTSTORE,
    "ssl.client.auth": {"client_auth": "none"},
    "ssl.protocol": {"protocol": _DEFAULTS.protocol},
    "ssl.enabled.protocols": {"enabled_protocols": _DEFAULTS.enabled_protocols},
    "ssl.cipher.suites": {"cipher_suites": ()},
    "ssl.endpoint": {"endpoint_identification_algorithm": "https"},
}


def collect_errors(settings: TlsSettings, make: Callable[[TlsSettings], object]) -> list[TlsConfigError]:
    """The errors of `make`, which reads `settings` and stops at the first; empty when there is none."""
    errors: list[TlsConfigError] = []
    seen: set[str] = set()
    while True:
        try:
            make(settings)
        except TlsConfigError as error:
            kind = next((start for start in _HARMLESS if error.key.startswith(start)), error.key)
            if kind in seen:  # the error comes from a value that was reset
                return errors
            errors.append(error)
            seen.add(kind)
            settings = replace(settings, **dict(_HARMLESS.get(kind, {})))  # type: ignore[arg-type]
            if kind == "ssl.key":
                make = client_context
        else:
            return errors
