"""What guards a listener: its TLS context and its SASL mechanisms, built once from its settings."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.security.sasl.sasl_server import SaslMechanism


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """`tls_context` where the protocol uses TLS; `mechanisms` by Kafka's name where it uses SASL."""

    tls_context: ssl.SSLContext | None = None
    mechanisms: Mapping[str, SaslMechanism] = field(default_factory=dict)
