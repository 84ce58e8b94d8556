"""`signalbox planes`: the state of each plane and listener of a broker, from its metrics page (KIP-291, SPEC C7).

Queue depth, queue time and idle share belong to a plane, the rest to a listener. In the live view the queue time is the
mean of the requests since the last refresh; with `--once` it is the mean since the broker's start.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from signalbox.cli import connect
from signalbox.cli.broker_page import Addresses, BrokerPage, page_of
from signalbox.cli.connect import show
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.common.visible_text import visible

_PREFIXES = {"data": "", "control": "controlplane", "controller": "controller"}
_COLUMNS = (
    "broker", "plane", "listener", "connections", "queue", "queue ms", "idle", "requests", "rejected", "expired",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListenerState:
    """One listener at one moment. `queue_ms` and `requests` are totals of its plane since the broker's start."""

    broker: str
    plane: str
    listener: str
    forced: bool
    connections: int
    queued: int
    queue_ms: float
    idle: float
    requests: int
    rejected: int
    expired: int

    def values(self, before: ListenerState | None = None) -> tuple[Any, ...]:
        """The row with numbers: `idle` is a share, and there is no mean time (None) without requests. `before` is the
        state of the same listener at the last refresh."""
        queue_ms, requests = self.queue_ms, self.requests
        if before is not None:
            queue_ms, requests = queue_ms - before.queue_ms, requests - before.requests
        name = f"{self.listener} (forced)" if self.forced else self.listener
        mean = queue_ms / requests if requests else None
        figures = (self.connections, self.queued, mean, self.idle, self.requests, self.rejected, self.expired)
        return (self.broker, self.plane, name, *figures)

    def cells(self, before: ListenerState | None) -> tuple[str, ...]:
        """The row of the table."""
        *names, connections, queued, mean, idle, requests, rejected, expired = self.values(before)
        mean_text = "-" if mean is None else f"{mean:.3f}"
        return (
            *map(visible, names),
            *map(str, (connections, queued, mean_text, f"{idle:.0%}", requests, rejected, expired)),
        )


def planes(
    addresses: Addresses,
    once: Annotated[bool, typer.Option(help="Print one snapshot as tab-separated lines and exit.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Refresh interval in seconds.")] = 1.0,
) -> None:
    """Show planes and listeners live: queues, idle ratio, errors."""
    if shared().as_json:
        listing = Listing(*_COLUMNS)
        for state in _read_states(addresses):
            listing.add(*state.values())
        show(listing)
        return
    if once:
        typer.echo("\t".join(_COLUMNS))
        for state in _read_states(addresses):
            typer.echo("\t".join(state.cells(None)))
        return
    from rich.live import Live
    from rich.table import Table

    before: dict[tuple[str, str], ListenerState] = {}
    try:
        with Live(console=connect.console, auto_refresh=False) as view:
            while True:
                states = list(_read_states(addresses))
                table = Table()
                for column in _COLUMNS:
                    table.add_column(column, overflow="fold")
                for state in states:
                    table.add_row(*state.cells(before.get((state.broker, state.listener))))
                view.update(table, refresh=True)
                before = {(state.broker, state.listener): state for state in states}
                time.sleep(every)
    except KeyboardInterrupt:
        return


def _read_states(addresses: list[str]) -> Iterator[ListenerState]:
    for address in addresses:
        yield from listener_states(address, page_of(address))


def listener_states(broker: str, page: str) -> Iterator[ListenerState]:
    """The listeners of one page, control planes first. Ends the command if the page is not a broker's."""
    samples = BrokerPage(broker, page)
    listeners = [labels for labels in samples.listeners if labels["plane"] in _PREFIXES]
    read = samples.read

    for labels in sorted(listeners, key=lambda each: (each["plane"] == "data", each["listener"])):
        plane, listener = labels["plane"], labels["listener"]
        channel = f"kafka_network_requestchannel_{_PREFIXES[plane]}"
        server = f"kafka_network_socketserver_{_PREFIXES[plane]}"
        own = "signalbox_network_requestchannel_"
        yield ListenerState(
            broker=broker,
            plane=plane,
            listener=listener,
            forced=labels["forced"] == "true",
            connections=int(read("kafka_server_socket_server_metrics_connection_count", listener=listener)),
            queued=int(read(channel + "requestqueuesize")),
            queue_ms=read(own + "requestqueuetimems_total", plane=plane),
            idle=read(server + "networkprocessoravgidlepercent"),
            requests=int(read(own + "requests_total", plane=plane)),
            rejected=int(read("signalbox_network_socketserver_rejections_total", listener=listener)),
            expired=int(read(server + "expiredconnectionskilledcount")),
        )
