"""`signalbox planes`: what each plane and listener of a broker is doing, from its metrics page (KIP-291, SPEC C7).

Queue depth, queue time and idle share belong to a plane, the rest to a listener. In the live view the queue time is the
mean of the requests since the last look; with `--once` it is the mean since the broker began.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.live import Live
from rich.table import Table

from signalbox.cli.broker_page import Addresses, BrokerPage, page_of
from signalbox.cli.connect import console

_PREFIXES = {"data": "", "control": "controlplane", "controller": "controller"}
_COLUMNS = (
    "broker", "plane", "listener", "connections", "queue", "queue ms", "idle", "requests", "refused", "expired",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListenerState:
    """One listener at one moment. `queue_ms` and `requests` are sums of its plane since the broker began."""

    broker: str
    plane: str
    listener: str
    forced: bool
    connections: int
    queued: int
    queue_ms: float
    idle: float
    requests: int
    refused: int
    expired: int

    def cells(self, before: ListenerState | None) -> tuple[str, ...]:
        """The row of the table; `before` is what the same listener showed at the last look."""
        queue_ms, requests = self.queue_ms, self.requests
        if before is not None:
            queue_ms, requests = queue_ms - before.queue_ms, requests - before.requests
        name = f"{self.listener} (forced)" if self.forced else self.listener
        mean = f"{queue_ms / requests:.3f}" if requests else "-"
        figures = (self.connections, self.queued, mean, f"{self.idle:.0%}", self.requests, self.refused, self.expired)
        return (self.broker, self.plane, name, *map(str, figures))


def planes(
    addresses: Addresses,
    once: Annotated[bool, typer.Option(help="Look once, print tab-separated lines, and end.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Planes and listeners live: queues, idle share, refusals."""
    if once:
        typer.echo("\t".join(_COLUMNS))
        for state in _look(addresses):
            typer.echo("\t".join(state.cells(None)))
        return
    before: dict[tuple[str, str], ListenerState] = {}
    try:
        with Live(console=console, auto_refresh=False) as view:
            while True:
                states = list(_look(addresses))
                table = Table(*_COLUMNS)
                for state in states:
                    table.add_row(*state.cells(before.get((state.broker, state.listener))))
                view.update(table, refresh=True)
                before = {(state.broker, state.listener): state for state in states}
                time.sleep(every)
    except KeyboardInterrupt:
        return


def _look(addresses: list[str]) -> Iterator[ListenerState]:
    for address in addresses:
        yield from listener_states(address, page_of(address))


def listener_states(broker: str, page: str) -> Iterator[ListenerState]:
    """The listeners of one page, control planes first. Ends the command when it is no broker's page."""
    samples = BrokerPage(broker, page)
    listeners = samples.listeners
    read = samples.read

    for labels in sorted(listeners, key=lambda each: (each["plane"] == "data", each["listener"])):
        plane, listener = labels["plane"], labels["listener"]
        channel = f"kafka_network_requestchannel_{_PREFIXES[plane]}"
        server = f"kafka_network_socketserver_{_PREFIXES[plane]}"
        yield ListenerState(
            broker=broker,
            plane=plane,
            listener=listener,
            forced=labels["forced"] == "true",
            connections=int(read("kafka_server_socket_server_metrics_connection_count", listener=listener)),
            queued=int(read(channel + "requestqueuesize")),
            queue_ms=read(channel + "requestqueuetimemstotal"),
            idle=read(server + "networkprocessoravgidlepercent"),
            requests=int(read(channel + "requeststotal")),
            refused=int(read("kafka_network_socketserver_refusals_total", listener=listener)),
            expired=int(read(server + "expiredconnectionskilledcount")),
        )
