"""How this broker introduces itself at a peer's listener, by the listener that is dialled and not by what this broker's
own inter-broker or control-plane listener happens to be: in a rolling change the two differ (SPEC L12, C6).

The endpoint comes from the peer's registration. Its protocol is taken from there, its TLS and SASL settings from this
broker's own keys for a listener of that name, as Kafka does (facts: 1.9).
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace

from signalbox.client.connection_settings import PLAINTEXT, ConnectionSecurity
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.network.network_settings import ListenerSettings, NetworkSettings
from signalbox.wiring.outbound import outbound_security

log = logging.getLogger(__name__)


class PeerSecurity:
    """Made when first asked for and kept, so that an endpoint's security is the same object. `known` is what was made
    before."""

    def __init__(
        self,
        settings: NetworkSettings,
        known: Mapping[tuple[str, SecurityProtocol], ConnectionSecurity] | None = None,
        handshakes: Executor | None = None,
    ) -> None:
        self._settings = settings
        self._handshakes = handshakes
        self._known = dict(known or {})

    def of(self, endpoint: Endpoint) -> ConnectionSecurity:
        """For connections to this endpoint. Where this broker lacks the settings, connecting fails and is tried again;
        the log says once which keys are missing."""
        key = (endpoint.listener_name, endpoint.security_protocol)
        if key not in self._known:
            security, faults = outbound_security(*key, self._settings, self._handshakes)
            for fault in faults:
                log.error("peers cannot be reached on listener %s: %s", endpoint.listener_name, fault)
            self._known[key] = PLAINTEXT if faults else security
        return self._known[key]

    def renew_tls(self, listener_name: str, settings: ListenerSettings, context: ssl.SSLContext) -> None:
        """Use `context`, made from `settings`, for new connections to that listener of any peer."""
        self._settings = replace(self._settings, listeners={**self._settings.listeners, listener_name: settings})
        for (name, _), security in self._known.items():
            if name == listener_name and security.tls is not None:
                security.tls.context = context
