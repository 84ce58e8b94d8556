"""Summary of each listener of a checked configuration, as texts for a table (`signalbox check`)."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.endpoint import host_port
from signalbox.configuration.configuration import NodeConfig
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.network.listeners.listener_security import ENABLED_MECHANISMS_KEY, client_auth
from signalbox.network.listeners.listener_table import ListenerRow
from signalbox.network.listeners.network_settings import ListenerSettings, read_network_settings

_LIMITS = {"max.connections": "connections", "max.connection.creation.rate": "new ones a second"}
_ANY_HOST, _ANY_PORT, _OWN_NAME = "*", "any free port", "(this machine's name)"


@dataclass(frozen=True, slots=True)
class ListenerSummary:
    """One row of the table. A text is "" if it does not apply; `advertised` is None for a listener that is not
    advertised to clients."""

    name: str
    bind: str
    advertised: str | None
    protocol: str
    plane: str
    part: str
    mechanisms: str
    client_auth: str
    limits: str


def summarize(config: NodeConfig) -> list[ListenerSummary]:
    """The listeners in the order of `listeners`."""
    settings, _ = read_network_settings(config.originals, [row.name for row in config.listeners])
    return [_summary(row, settings.listener(row.name)) for row in config.listeners]


def _summary(row: ListenerRow, settings: ListenerSettings) -> ListenerSummary:
    protocol, endpoint = row.security_protocol, row.advertised
    return ListenerSummary(
        name=row.name,
        bind=_address(row.host or _ANY_HOST, row.port),
        advertised=None if endpoint is None else _address(endpoint.host or _OWN_NAME, endpoint.port),
        protocol=protocol.name,
        plane=row.plane,
        part=", ".join(_roles(row)),
        mechanisms=", ".join(settings.names(ENABLED_MECHANISMS_KEY)) if protocol.uses_sasl else "",
        client_auth=client_auth(row, settings) if protocol.uses_tls else "",
        limits=", ".join(_limits(settings)),
    )


def _limits(settings: ListenerSettings) -> list[str]:
    return [
        f"{settings.number(key)} {description}"
        for key, description in _LIMITS.items()
        if settings.number(key) != NETWORK_CONFIG[key].default
    ]


def _address(host: str, port: int) -> str:
    return host_port(host, port) if port else f"{host} {_ANY_PORT}"


def _roles(row: ListenerRow) -> list[str]:
    held = (
        (row.inter_broker, "inter-broker"),
        (row.privileged, "privileged"),
        (row.forced, "controller requests only"),
    )
    return [word for holds, word in held if holds]
