"""From a client's properties to the security of its connections: TLS contexts, SASL clients."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.client.connection_settings import PLAINTEXT, ConnectionSecurity
from signalbox.common.config_table import ConfigFault, Value
from signalbox.common.endpoint import SecurityProtocol


def security_of(values: Mapping[str, Value]) -> tuple[ConnectionSecurity, list[ConfigFault]]:
    """The security that typed client properties ask for, and what is wrong with them."""
    protocol = SecurityProtocol[str(values["security.protocol"])]
    if protocol is SecurityProtocol.PLAINTEXT:
        return PLAINTEXT, []
    return ConnectionSecurity(), []
