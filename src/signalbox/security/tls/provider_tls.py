"""TLS towards an identity provider: the `ssl.*` options of the login module, as Kafka reads them, not the broker's own
keys; what is not said there is the default, so that a bare module trusts the system's authorities."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import tls_settings

_DEFAULTS = {
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "ssl.protocol": "TLSv1.3",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.client.auth": "none",
}


def provider_context(options: Mapping[str, str]) -> ssl.SSLContext:
    """TlsConfigError names the option that is wrong. Reading the system's authorities takes some milliseconds."""

    def text(key: str) -> str:
        return options.get(key, _DEFAULTS.get(key, ""))

    return client_context(tls_settings(text, lambda key: [each.strip() for each in text(key).split(",") if each]))
