"""The metrics page and a listener cannot have one port: the second of the two could not be bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.network.listeners.listener_table import ListenerRow

_EVERY_HOST = ("", "0.0.0.0", "::")


def check_metrics_port(values: Mapping[str, Value], rows: Iterable[ListenerRow]) -> list[ConfigFault]:
    """Returns the fault if a listener has the port `signalbox.metrics.http.port` on the same address."""
    host, port = str(values["signalbox.metrics.http.host"]).strip(), values["signalbox.metrics.http.port"]
    return [
        ConfigFault(
            "signalbox.metrics.http.port",
            str(port),
            f"the listener {row.name} has port {port} on {row.host or 'every address'}",
            "Give the page a port of its own, 0 for any free one, or -1 for no page",
        )
        for row in rows
        if port and row.port == port and same_address(row.host, host)
    ]


def same_address(one: str, other: str) -> bool:
    """Whether two hosts to bind share an address, as far as their texts show."""
    return one.lower() == other.lower() or one in _EVERY_HOST or other in _EVERY_HOST
