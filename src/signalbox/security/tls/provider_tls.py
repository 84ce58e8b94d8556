"""TLS of connections to an identity provider: from the `ssl.*` options of the login module, as in Kafka, not from the
broker's own keys. Missing options have their defaults, so a module without them trusts the system's authorities."""

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
    """TlsConfigError names the invalid option. Reading the system's authorities takes some milliseconds."""

    def text(key: str) -> str:
        return options.get(key, _DEFAULTS.get(key, ""))

    return client_context(tls_settings(text, lambda key: [item.strip() for item in text(key).split(",") if item]))
