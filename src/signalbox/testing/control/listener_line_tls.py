"""The TLS of a relay in front of a broker's listener, from that broker's server.properties.

While a fault reads requests, clients have TLS with the relay: it has the broker's own certificate, so that clients
verify what they verify without it. Towards the broker it trusts that certificate and what the listener trusts, under
any name, and shows the same certificate if the broker asks for one: certificates of clients end at the relay.
"""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

from signalbox.configuration.config_file import read_config_file
from signalbox.network.listeners.listener_security import server_tls
from signalbox.network.listeners.listener_table import readable_listeners
from signalbox.network.listeners.network_settings import read_network_settings
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.listener_tls import handshake_problem
from signalbox.security.tls.settings import TlsConfigError, TlsSettings
from signalbox.security.tls.stores import open_stores
from signalbox.testing.switchboard_line import LineTls


def listener_line_tls(properties_file: Path, listener: str) -> LineTls | None:
    """None if the listener has no TLS, or the file has no such listener. ConfigFileError if the file cannot be read,
    TlsConfigError if its key or its certificates cannot be used."""
    originals = dict(read_config_file(properties_file).values)
    row = next((row for row in readable_listeners(originals) if row.name == listener), None)
    if row is None or not row.security_protocol.uses_tls:
        return None
    network, _ = read_network_settings(originals, [listener])
    return _line_tls(server_tls(row, network.listener(listener)))


def _line_tls(settings: TlsSettings) -> LineTls:
    stores = open_stores(settings)
    to_caller = server_context(settings, stores)
    assert stores.key_entry is not None  # server_context rejects a listener without a key
    trusted = (stores.trusted or "") + stores.key_entry.chain
    to_target = client_context(
        replace(settings, endpoint_identification_algorithm=""), replace(stores, trusted=trusted)
    )
    to_target.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the authority may be known to the clients only
    problem = handshake_problem(to_caller, to_target)
    if problem:
        raise TlsConfigError(
            "ssl.truststore.location",
            f"a relay with the broker's certificate cannot connect to the broker ({problem}): the truststore must know "
            "who signed it",
        )
    return LineTls(to_caller, to_target)
