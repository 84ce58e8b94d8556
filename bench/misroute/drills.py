"""The drill: for 200 ms the addresses of two of three brokers are swapped, and what the client makes of that.

Each drill begins when the client has gone on after the one before, with 200 ms in which all is well. Then the
switchboard swaps two of the lines and cuts their connections; 200 ms later it swaps them back, and cuts nothing.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from bench.kafka.sides import Address, Side, metadata
from bench.misroute.load_client import Acknowledged, LoadClient, Name, name_of
from bench.misroute.routed_sides import NODES, RoutedKafka, RoutedOurs
from bench.misroute.timed_switchboard import TimedLine
from signalbox.client import SyncClient
from signalbox.testing.kafka_cluster.topics import Topics
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_thread import SwitchboardThread

TOPIC = "drill"
_WRONG_S, _WELL_S, _SETTLE_S = 0.2, 0.2, 0.1
_EDGE_NS = 20_000_000  # a record that is sent this close to the swap may be acknowledged after it
_READY_S, _RECOVERY_S = 60.0, 30.0
_MS = 1_000_000


@dataclass(slots=True)
class Figures:
    """Milliseconds, of all drills. `recovered`: from the right routes to the acknowledgement of a record on both nodes;
    `noticed`: from the first request on a wrong route until the client closes the connection, of the node for which
    that takes longer; `beside` and `undisturbed`: from send to acknowledgement, on the node whose route is right."""

    recovered: list[float] = field(default_factory=list)
    noticed: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    undisturbed: list[float] = field(default_factory=list)

    def add(self, others: Figures) -> None:
        self.recovered += others.recovered
        self.noticed += others.noticed
        self.beside += others.beside
        self.undisturbed += others.undisturbed


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values is; not a number without one."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else math.nan


class Drills:
    """One side with its client. `make` gets the folder and the lines' addresses."""

    def __init__(
        self,
        board: SwitchboardThread,
        folder: Path,
        make: Callable[[Path, Mapping[int, Address]], RoutedOurs | RoutedKafka],
        command: Sequence[str],
    ) -> None:
        self._board = board
        self._names = {node_id: f"{folder.name}-{node_id}" for node_id in NODES}
        side = make(folder, {node_id: board.add_line(name) for node_id, name in self._names.items()})
        self.side: Side = side
        self._ports = side.client_ports
        self._command = command
        self._client: LoadClient | None = None
        self._leaders: dict[int, int] = {}
        self._count = 0
        self.stored: Counter[Name] = Counter()
        self.figures = Figures()

    def start(self) -> None:
        """Starts the cluster and its client."""
        for node_id, port in self._ports.items():
            self._board.set_home(self._names[node_id], ("127.0.0.1", port))
        print(f"starting {self.side.name}", flush=True)
        self.side.start()
        self.side.create_topic(TOPIC, len(NODES), len(NODES))
        rows = metadata(self.side.addresses[1], [TOPIC]).topics[0].partitions
        self._leaders = {row.leader_id: row.partition_index for row in rows}
        if len(self._leaders) != len(NODES):
            raise RuntimeError(f"not every node leads a partition: {self._leaders}")
        bootstrap = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        self._client = LoadClient([*self._command, bootstrap, TOPIC])
        self._client.await_ready(_READY_S)

    @property
    def client(self) -> LoadClient:
        assert self._client is not None, "start comes first"
        return self._client

    def warm(self, drills: int, seconds: float) -> Mapping[str, float]:
        """A round that does not count."""
        self._round(drills, seconds)
        return {}

    def measure(self, drills: int, seconds: float) -> Mapping[str, float]:
        """So many drills, or as many as begin within so many seconds. Their figures are added to `figures`; here are
        those quantiles of the round whose spread is of interest."""
        figures = self._round(drills, seconds)
        self.figures.add(figures)
        return {"recovered": quantile(figures.recovered, 0.99), "noticed": quantile(figures.noticed, 0.99)}

    def _round(self, drills: int, seconds: float) -> Figures:
        """The node whose route stays right changes from drill to drill."""
        figures, until = Figures(), time.monotonic() + seconds
        self.client.run(True)
        for _ in range(drills):
            if time.monotonic() > until:
                break
            self._count += 1
            self._drill(NODES[self._count % len(NODES)], figures)
        self.client.run(False)
        time.sleep(_SETTLE_S)
        return figures

    def _drill(self, right: int, figures: Figures) -> None:
        wrong = [node_id for node_id in NODES if node_id != right]
        partitions = [self._leaders[node_id] for node_id in wrong]
        if self.client.await_acknowledged(range(len(NODES)), time.monotonic_ns(), _RECOVERY_S) is None:
            raise RuntimeError("the client sends no records")
        time.sleep(_SETTLE_S)
        well_ns = time.monotonic_ns()
        time.sleep(_WELL_S)
        lines = [cast(TimedLine, self._board.line(self._names[node_id])) for node_id in wrong]
        for line in lines:
            line.wrong_routes.clear()
        wrong_ns = self._swap(wrong, sever=True)
        time.sleep(_WRONG_S)
        right_ns = self._swap(wrong, sever=False)
        at = self.client.await_acknowledged(partitions, right_ns, _RECOVERY_S)
        recovered_ns = time.monotonic_ns() if at is None else max(at.values())
        figures.recovered.append((recovered_ns - right_ns) / _MS)
        figures.noticed.extend(_noticed(lines, recovered_ns))
        own = [record for record in self.client.acknowledged if record.partition == self._leaders[right]]
        figures.undisturbed += _latencies(own, well_ns, wrong_ns - _EDGE_NS)
        figures.beside += _latencies(own, wrong_ns, recovered_ns)

    def _swap(self, nodes: Sequence[int], *, sever: bool) -> int:
        """Swaps two lines; the instant at which that is done."""
        one, other = (self._names[node_id] for node_id in nodes)

        async def swap(board: Switchboard) -> int:
            board.swap(one, other, sever=sever)
            return time.monotonic_ns()

        return self._board.execute(swap)

    def finish(self) -> None:
        """Ends the client; `stored` has what is in the topic then."""
        self.client.end()
        addresses = ",".join(f"{host}:{port}" for host, port in self.side.addresses.values())
        with SyncClient.of(addresses) as reader:
            records = Topics(reader, len(NODES)).records(TOPIC)
        self.stored = Counter(name_of(record.value or b"") for rows in records.values() for record in rows)

    @property
    def lost(self) -> int:
        """Acknowledged records that are not in the topic, and records that are there more than once."""
        missing = self.client.names - self.stored.keys()
        return len(missing) + sum(count > 1 for count in self.stored.values())

    def stop(self) -> None:
        if self._client is not None:
            self._client.kill()
        self.side.stop()


def _noticed(lines: Sequence[TimedLine], now_ns: int) -> list[float]:
    """Of the first wrong connection of each line; the longer time. A connection that is open still counts up to now."""
    first = [next((row for row in line.wrong_routes if row.first_request_ns), None) for line in lines]
    times = [((row.closed_ns or now_ns) - row.first_request_ns) / _MS for row in first if row is not None]
    return [max(times)] if times else []


def _latencies(records: Sequence[Acknowledged], from_ns: int, to_ns: int) -> list[float]:
    """Milliseconds from send to acknowledgement of the records that were sent in between."""
    return [(row.acknowledged_ns - row.sent_ns) / _MS for row in records if from_ns <= row.sent_ns < to_ns]
