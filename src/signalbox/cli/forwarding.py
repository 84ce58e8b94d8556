"""`signalbox forwarding`: what brokers forward to the active controller, from their metrics pages (KIP-590, SPEC F16).

Four tables: the brokers, the clients whose requests they forwarded, the errors by kind, and the client software that is
connected (KIP-511), summed over the brokers: when the old versions have disappeared from it, an old protocol version
can be removed. In the live view a rate covers the time since the last refresh; with `--once` it is the brokers' own, of
the last half minute.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalbox.cli import connect
from signalbox.cli.broker_page import Addresses, BrokerPage, page_of
from signalbox.cli.connect import tell
from signalbox.cli.shell.listing import Listing, cell_text
from signalbox.cli.shell.shared_options import shared

if TYPE_CHECKING:
    from rich.table import Table

_MANAGER = "kafka_server_forwardingmanager_"
_OWN = "signalbox_broker_forwardingmanager_"
_FORWARDED = "kafka_server_requestmetrics_numrequestsforwardingtocontroller_total"
_SOFTWARE = "kafka_server_socket_server_metrics_connections"
_RETRIES = "signalbox_client_controllerchannel_retries_total"
_NO_CONTROLLER = -1
Row = tuple[Any, ...]
_COLUMNS = {
    "broker": (
        "broker", "controller", "in flight", "clients waiting", "redirected", "per second", "retried",
        "failed", "not authorized",
    ),
    "client": ("broker", "client id", "forwarded", "per second"),
    "failure": ("broker", "error", "requests"),
    "software": ("software", "version", "listener", "connections"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForwardingState:
    """One broker at one moment. Counts are totals since the broker's start."""

    broker: str
    taken_at: float
    controller_id: int
    in_flight: int
    clients_waiting: int
    redirected: int
    rate: float
    retries: int
    not_authorized: int
    clients: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    software: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def values(self, before: ForwardingState | None) -> Row:
        """The broker's row; `before` is its state at the last refresh. None: it knows no controller."""
        rate = self.rate if before is None else (self.redirected - before.redirected) / self._seconds_since(before)
        controller = None if self.controller_id == _NO_CONTROLLER else self.controller_id
        figures = (self.in_flight, self.clients_waiting, self.redirected)
        trouble = (self.retries, self.failures.total(), self.not_authorized)
        return (self.broker, controller, *figures, rate, *trouble)

    def client_values(self, before: ForwardingState | None) -> Iterator[Row]:
        """The clients' rows, the clients with the most requests first. None: there is no rate yet."""
        for client, count in self.clients.most_common():
            recent = None
            if before is not None:
                recent = (count - before.clients[client]) / self._seconds_since(before)
            yield self.broker, client, count, recent

    def _seconds_since(self, before: ForwardingState) -> float:
        return max(self.taken_at - before.taken_at, 1e-3)


def forwarding(
    addresses: Addresses,
    once: Annotated[bool, typer.Option(help="Print one snapshot as tab-separated lines and exit.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Refresh interval in seconds.")] = 1.0,
) -> None:
    """Show forwarded requests by broker and client, forwarding errors, and connected client software."""
    if shared().as_json:
        tell({kind: _listing(kind, rows) for kind, rows in _tables(_read_states(addresses), {})}, "")
        return
    if once:
        for kind, rows in _tables(_read_states(addresses), {}):
            for row in ([*_COLUMNS[kind]], *rows):
                typer.echo("\t".join([kind, *cells_of(row)]))
        return
    from rich.console import Group
    from rich.live import Live

    before: dict[str, ForwardingState] = {}
    try:
        with Live(console=connect.console, auto_refresh=False) as view:
            while True:
                states = _read_states(addresses)
                view.update(Group(*(_drawn(kind, rows) for kind, rows in _tables(states, before))), refresh=True)
                before = {state.broker: state for state in states}
                time.sleep(every)
    except KeyboardInterrupt:
        return


def _read_states(addresses: Sequence[str]) -> list[ForwardingState]:
    return [forwarding_state(address, page_of(address)) for address in addresses]


def _tables(states: Sequence[ForwardingState], before: dict[str, ForwardingState]) -> Iterator[tuple[str, list[Row]]]:
    yield "broker", [state.values(before.get(state.broker)) for state in states]
    yield "client", [row for state in states for row in state.client_values(before.get(state.broker))]
    yield (
        "failure",
        [(state.broker, error, count) for state in states for error, count in state.failures.most_common()],
    )
    software = sum((state.software for state in states), Counter[tuple[str, str, str]]())
    yield "software", [(*row, count) for row, count in sorted(software.items())]


def cells_of(row: Sequence[Any]) -> list[str]:
    """A row as texts: rates with one digit, `-` for what is not known."""
    return ["-" if cell is None else f"{cell:.1f}" if isinstance(cell, float) else cell_text(cell) for cell in row]


def _listing(kind: str, rows: Sequence[Row]) -> Listing:
    listing = Listing(*_COLUMNS[kind])
    for row in rows:
        listing.add(*row)
    return listing


def _drawn(kind: str, rows: Sequence[Row]) -> Table:
    from rich.table import Table

    table = Table()
    for column in _COLUMNS[kind]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*cells_of(row))
    return table


def forwarding_state(broker: str, page: str) -> ForwardingState:
    """The state on one page. Ends the command if the page is not a broker's."""
    samples = BrokerPage(broker, page)

    def count(name: str) -> int:
        return int(samples.read(_MANAGER + name))

    return ForwardingState(
        broker=broker,
        taken_at=time.monotonic(),
        controller_id=int(samples.read(_OWN + "activecontrollerid")),
        in_flight=int(samples.read(_OWN + "requestsforwardinginflight")),
        clients_waiting=count("num_client_forwarding_to_controller_count"),
        redirected=count("num_messages_redirected_count"),
        rate=float(samples.read(_MANAGER + "num_messages_redirected_rate")),
        retries=int(samples.read(_RETRIES, channel="forwarding")),
        not_authorized=count("request_forwarding_to_controller_authorization_fail_count"),
        clients=Counter({labels["clientId"]: int(value) for labels, value in samples.all(_FORWARDED)}),
        failures=Counter(
            {labels["error"]: int(value) for labels, value in samples.all(_OWN + "forwardingfailures_total")}
        ),
        software=Counter(
            {
                (labels["clientSoftwareName"], labels["clientSoftwareVersion"], labels["listener"]): int(value)
                for labels, value in samples.all(_SOFTWARE)
            }
        ),
    )
