"""The ssl.* values of a TLS context, with the terms of Kafka's configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


class TlsConfigError(ValueError):
    """`key` is the setting to change."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """ "" is unset. Passwords and private keys stay out of `repr`."""

    keystore_type: str = "PEM"
    keystore_location: str = ""
    keystore_password: str = field(default="", repr=False)
    keystore_key: str = field(default="", repr=False)
    keystore_certificate_chain: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    truststore_type: str = "PEM"
    truststore_location: str = ""
    truststore_password: str = field(default="", repr=False)
    truststore_certificates: str = field(default="", repr=False)
    client_auth: str = "none"
    protocol: str = "TLSv1.3"
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    endpoint_identification_algorithm: str = "https"
    allow_dn_changes: bool = False
    allow_san_changes: bool = False


RENEWABLE_KEYS = frozenset(
    {
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.key.password",
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.certificates",
    }
)
"""Keys that can change while a listener is in use, as in Kafka (SslConfigs.RECONFIGURABLE_CONFIGS): per broker and with
the listener's prefix only (KIP-226)."""


def tls_settings(text: Callable[[str], str], names: Callable[[str], list[str]]) -> TlsSettings:
    """Settings from a configuration: `text(key)`, "" for an unset key, and `names(key)` for lists. For a key that a
    configuration does not have (clients have no ssl.client.auth), `text` returns ""."""
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
        protocol=text("ssl.protocol"),
        enabled_protocols=tuple(names("ssl.enabled.protocols")),
        cipher_suites=tuple(names("ssl.cipher.suites")),
        endpoint_identification_algorithm=text("ssl.endpoint.identification.algorithm"),
        allow_dn_changes=text("ssl.allow.dn.changes").lower() == "true",
        allow_san_changes=text("ssl.allow.san.changes").lower() == "true",
    )
