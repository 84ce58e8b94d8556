"""New keys and certificates without a restart (KIP-226): those of a listener, and those with which this broker connects
to the same listener of its peers.

`prepare` builds and checks, `apply` puts the change into effect; in between the caller stores it. The keys that can
change are in `security/tls/settings.RENEWABLE_KEYS`: per broker, and with the listener's prefix, as in Kafka.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigFault
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.listeners.listener_security import renew_tls
from signalbox.network.listeners.network_settings import ListenerSettings, listener_prefix, read_network_settings
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.listener_tls import ListenerTls
from signalbox.security.tls.settings import TlsConfigError, tls_settings


@dataclass(frozen=True, slots=True)
class TlsChange:
    """The checked new TLS settings of one listener."""

    listener_name: str
    settings: ListenerSettings
    inbound: ListenerTls
    outbound: ssl.SSLContext


class TlsRenewal:
    """For one node: its `server`, and its connections to its `peers`."""

    def __init__(self, server: SocketServer, peers: PeerSecurity) -> None:
        self._server = server
        self._peers = peers

    def replaced_files(self) -> list[str]:
        """The full keys of the files that were replaced since their listener read them."""
        return [key for row in self._server.table for key in _replaced(row.name, self._server.tls_of(row.name))]

    def prepare(self, listener_name: str, originals: Mapping[str, str]) -> tuple[TlsChange | None, list[ConfigFault]]:
        """Returns the change that gives the listener (upper-case name) the TLS settings in `originals`, or None and all
        faults. `originals` has all properties of the node: those of the file with the changed ones in their place, keys
        in full (`listener.name.<l>.ssl...`).

        Files are read again even if their names did not change: setting ssl.keystore.location to its present value
        renews a certificate that was replaced on disk. Nothing takes effect here, so this alone serves a validate-only
        request. May take a tenth of a second (files, passwords): call it in a thread, not on the event loop. KeyError
        for a listener without TLS.
        """
        row, current = self._server.table.row(listener_name), self._server.tls_of(listener_name)
        if current is None:
            raise KeyError(f"listener {listener_name} has no TLS to renew")
        prefix = listener_prefix(listener_name)
        network, faults = read_network_settings(originals, [listener_name])
        faults = [fault for fault in faults if fault.key.startswith((prefix, "ssl."))]
        settings = network.listener(listener_name)
        inbound, more = renew_tls(row, current, settings)
        faults += more
        if faults or inbound is None:
            return None, faults
        try:
            outbound = client_context(tls_settings(settings.text, settings.names))
        except TlsConfigError as error:
            return None, [ConfigFault(prefix + error.key, "", error.problem, "Needed to connect to peers")]
        return TlsChange(listener_name, settings, inbound, outbound), []

    def apply(self, change: TlsChange) -> None:
        """Use the change for new connections, inbound and outbound; open ones keep the old keys. Call it on the event
        loop's thread."""
        self._server.replace_tls(change.listener_name, change.inbound)
        self._peers.renew_tls(change.listener_name, change.settings, change.outbound)


def _replaced(listener_name: str, tls: ListenerTls | None) -> Iterator[str]:
    if tls is None:
        return
    replaced, settings = tls.replaced_files, tls.settings
    for key, path in (
        ("ssl.keystore.location", settings.keystore_location),
        ("ssl.truststore.location", settings.truststore_location),
    ):
        if path in replaced:
            yield listener_prefix(listener_name) + key
