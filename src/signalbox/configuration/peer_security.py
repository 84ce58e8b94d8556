"""Security of this broker's connections to peers. It depends on the target listener, not on this broker's own
inter-broker or control-plane listener: in a rolling change the two differ (SPEC L12, C6).

The endpoint comes from the peer's registration. The security protocol is taken from there, the TLS and SASL settings
from this broker's own keys for a listener of that name, as in Kafka.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Container, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from signalbox.client.connection.connection_settings import ConnectionSecurity, SaslLogin
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.outbound import outbound_security
from signalbox.network.listeners.network_settings import ListenerSettings, NetworkSettings

_Key = tuple[str, SecurityProtocol]

log = logging.getLogger(__name__)


class PeerSecurity:
    """Built on first use and kept, so that an endpoint's security is always the same object: its contents are renewed
    in place."""

    def __init__(self, settings: NetworkSettings, handshakes: Executor | None = None) -> None:
        self._settings = settings
        self._handshakes = handshakes
        self._known: dict[_Key, ConnectionSecurity] = {}
        self._logins: dict[_Key, SaslLogin] = {}

    @property
    def settings(self) -> NetworkSettings:
        """The settings in use now."""
        return self._settings

    def of(self, endpoint: Endpoint) -> ConnectionSecurity:
        """Returns the security of connections to this endpoint. Without settings for it, connecting fails and is
        retried; the missing keys are logged once."""
        key = (endpoint.listener_name, endpoint.security_protocol)
        if key not in self._known:
            security, faults = outbound_security(*key, self._settings, self._handshakes)
            for fault in faults:
                log.error("Brokers cannot be reached on listener %s: %s", endpoint.listener_name, fault)
            self._known[key] = _unusable(*key, faults) if faults else self._renewable(key, security)
        return self._known[key]

    def renew(self, settings: NetworkSettings, listener_names: Container[str]) -> None:
        """Use other settings from now on, and other users and passwords for new connections to these listeners. If the
        new settings have faults, the previous login stays."""
        self._settings = settings
        for key, connection_security in list(self._known.items()):
            if connection_security.unusable:
                del self._known[key]  # the new settings may be complete
            elif key in self._logins and key[0] in listener_names:
                security, faults = outbound_security(*key, settings, self._handshakes)
                if not faults and security.sasl is not None:
                    self._logins[key] = security.sasl

    def renew_tls(self, listener_name: str, settings: ListenerSettings, context: ssl.SSLContext) -> None:
        """Use `context`, made from `settings`, for new connections to that listener of any peer."""
        self._settings = replace(self._settings, listeners={**self._settings.listeners, listener_name: settings})
        for (name, _), security in self._known.items():
            if name == listener_name and security.tls is not None:
                security.tls.context = context

    def _renewable(self, key: _Key, security: ConnectionSecurity) -> ConnectionSecurity:
        """The same security, but user and password, or token, are looked up at every login."""
        if security.sasl is None:
            return security
        self._logins[key] = security.sasl

        async def ready() -> None:
            login = self._logins[key]
            if login.ready is not None:
                await login.ready()

        renewed = SaslLogin(security.sasl.mechanism, lambda: self._logins[key].begin(), ready)
        return replace(security, sasl=renewed)


def _unusable(listener_name: str, protocol: SecurityProtocol, faults: Sequence[ConfigFault]) -> ConnectionSecurity:
    """No fallback to a weaker protocol: it would send data for the peer unprotected to any host that has the peer's
    address."""
    keys = ", ".join(dict.fromkeys(fault.key for fault in faults))
    return ConnectionSecurity(
        listener_name=listener_name, unusable=f"listener {listener_name} wants {protocol.name}: set {keys}"
    )
