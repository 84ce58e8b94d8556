"""New keys and certificates without a restart (KIP-226): a listener's own, and those with which this broker dials the
same listener of its peers.

`prepare` builds and checks, `apply` puts to use; between them stands whoever stores the change. Which keys may change
so is `security/tls/settings.RENEWABLE_KEYS`: for one broker, and with the listener's prefix, as Kafka has it.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from signalbox.common.config_table import ConfigFault
from signalbox.network.listener_security import renew_tls
from signalbox.network.network_settings import ListenerSettings, listener_prefix, read_network_settings
from signalbox.network.socket_server import SocketServer
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.listener_tls import ListenerTls
from signalbox.security.tls.settings import TlsConfigError, tls_settings
from signalbox.wiring.peer_security import PeerSecurity


@dataclass(frozen=True, slots=True)
class TlsChange:
    """Everything of one listener, checked."""

    listener_name: str
    settings: ListenerSettings
    inbound: ListenerTls
    outbound: ssl.SSLContext


class TlsRenewal:
    """Of one node: its `server`, and how it dials its `peers`."""

    def __init__(self, server: SocketServer, peers: PeerSecurity) -> None:
        self._server = server
        self._peers = peers

    def replaced_files(self) -> list[str]:
        """The keys, in full, of the files that were written again since their listener read them."""
        return [key for row in self._server.table for key in _replaced(row.name, self._server.tls_of(row.name))]

    def prepare(self, listener_name: str, given: Mapping[str, str]) -> tuple[TlsChange | None, list[ConfigFault]]:
        """The change that would make the listener (upper-case name) do as `given` says, or None and every fault.
        `given` is all of the node's properties, the changed ones laid over those of the file, keys in full
        (`listener.name.<l>.ssl...`).

        Files are read again whether or not their names changed: setting ssl.keystore.location to the value it has
        renews a certificate that was replaced on disk. Puts nothing to use, so it is the whole of a validate-only
        request. May take a tenth of a second (files, passwords): any thread but the loop's is right for it. KeyError
        for a listener without TLS.
        """
        row, current = self._server.table.row(listener_name), self._server.tls_of(listener_name)
        if current is None:
            raise KeyError(f"listener {listener_name} has no TLS to renew")
        prefix = listener_prefix(listener_name)
        network, faults = read_network_settings(given, [listener_name])
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
        """Use it from the next connection on, inbound and outbound; those that stand stay. On the loop's thread."""
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
