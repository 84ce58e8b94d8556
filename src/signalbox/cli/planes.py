"""`signalbox planes`: the state of each plane and listener of a broker, from its metrics page (KIP-291, SPEC C7).

Queue depth, queue time, idle share, requests and expired connections belong to a plane: the live view has them in the
row of its first listener, `--once` and `--json` in each row. The rest belongs to a listener. In the live view the queue
time is the mean of the requests since the last refresh, else the mean since the broker's start.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
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
    "broker", "plane", "queue", "queue ms", "idle", "requests", "expired", "listener", "connections", "rejected",
)  # fmt: skip
_OF_PLANE = slice(2, 7)  # of the columns


@dataclass(frozen=True, slots=True)
class ListenerState:
    """A listener and its plane at one moment. `queue_ms`, `requests`, `expired` are totals since the broker's start."""

    broker: str
    plane: str
    queued: int
    queue_ms: float
    idle: float
    requests: int
    expired: int
    listener: str
    forced: bool
    connections: int
    rejected: int

    def values(self, before: ListenerState | None = None) -> tuple[Any, ...]:
        """The row with numbers: `idle` is a share, and there is no mean time (None) without requests. `before` is the
        state of the same listener at the last refresh."""
        queue_ms, requests = self.queue_ms, self.requests
        if before is not None:
            queue_ms, requests = queue_ms - before.queue_ms, requests - before.requests
        name = f"{self.listener} (forced)" if self.forced else self.listener
        mean = queue_ms / requests if requests else None
        of_plane = (self.queued, mean, self.idle, self.requests, self.expired)
        return (self.broker, self.plane, *of_plane, name, self.connections, self.rejected)

    def cells(self, before: ListenerState | None) -> tuple[str, ...]:
        """The row of the table."""
        broker, plane, queued, mean, idle, requests, expired, listener, connections, rejected = self.values(before)
        mean_text = "-" if mean is None else f"{mean:.3f}"
        of_plane = map(str, (queued, mean_text, f"{idle:.0%}", requests, expired))
        return (visible(broker), visible(plane), *of_plane, visible(listener), str(connections), str(rejected))


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
                for row in table_rows(states, before):
                    table.add_row(*row)
                view.update(table, refresh=True)
                before = {(state.broker, state.listener): state for state in states}
                time.sleep(every)
    except KeyboardInterrupt:
        return


def table_rows(
    states: Iterable[ListenerState], before: Mapping[tuple[str, str], ListenerState]
) -> Iterator[tuple[str, ...]]:
    """The rows of the live view: those of a plane's further listeners do not repeat the figures of the plane. `before`:
    the states at the last refresh by broker and listener."""
    shown: set[tuple[str, str]] = set()
    for state in states:
        cells = list(state.cells(before.get((state.broker, state.listener))))
        plane = (state.broker, state.plane)
        if plane in shown:
            cells[_OF_PLANE] = [""] * len(cells[_OF_PLANE])
        shown.add(plane)
        yield tuple(cells)


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
