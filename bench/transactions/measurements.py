"""What is measured at one side in one round: transactions of one producer, of several ones, and fetches at both
isolation levels. Each returns its figures by name, and loads only this side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench import frames
from bench.c_programs import Load
from bench.kafka.measurements import Figures, run_client
from bench.kafka.sides import Side
from bench.processes import cpu_seconds
from bench.rounds import Rounds
from bench.table import Row

_CLIENTS = "bench.transactions.clients"
_PRODUCERS = 8
_FETCH_BYTES, _FETCH_CONNECTIONS = 1_048_576, 4
_ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
_RAW_WARM_S = 0.3
_LEAST_BYTES = 900_000  # of a response


@dataclass(frozen=True)
class Plan:
    """`rounds`; durations in seconds: `jit` and `warm` of the first load with and without a JVM, `warm` also of each
    round, `seconds` of what counts, `fetch` of each isolation level."""

    rounds: int
    jit: float
    warm: float
    seconds: float
    fetch: float


class Measurements:
    """The measurements of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def prepare(self, side: Side) -> Figures:
        """Creates the topics, writes what is fetched, and sends load of every kind."""
        side.create_topic("committed", 3, 3)
        side.create_topic("read", 1, 3)
        run_client(side, _CLIENTS, "fill", side.bootstrap, "read")
        seconds = self._plan.jit if side.compiles_at_run_time else self._plan.warm
        run_client(side, _CLIENTS, "commit", side.bootstrap, "committed", _PRODUCERS, seconds, 0.5)
        for isolation_level in _ISOLATION_LEVELS.values():
            _fetches(isolation_level).run(side.addresses[side.leader("read")][1], seconds / 2)
        return {}

    def one_producer(self, side: Side) -> Figures:
        """Milliseconds of a transaction, and processor time of all nodes for each."""
        sent = self._commit(side, 1)
        return {"p50": sent["p50_ms"], "p99": sent["p99_ms"], "cpu of one": _cpu_ms(sent)}

    def several_producers(self, side: Side) -> Figures:
        """Transactions a second, and processor time of all nodes for each."""
        sent = self._commit(side, _PRODUCERS)
        return {"commits": sent["transactions"] / sent["seconds"], "cpu of several": _cpu_ms(sent)}

    def fetch(self, side: Side) -> Figures:
        """CPU s of the leader per GB at either isolation level, and the ratio of both."""
        node = side.leader("read")
        port, pid = side.addresses[node][1], side.pids[node]
        figures = {}
        for name, isolation_level in _ISOLATION_LEVELS.items():
            load = _fetches(isolation_level)
            load.run(port, _RAW_WARM_S)
            before = cpu_seconds(pid)
            result = load.run(port, self._plan.fetch)
            if result.response_bytes < result.answers * _LEAST_BYTES:
                raise RuntimeError(f"{side.name}: {result.response_bytes} bytes in {result.answers} responses")
            figures[name] = (cpu_seconds(pid) - before) / (result.response_bytes / 1e9)
        return {**figures, "committed / uncommitted": figures["read_committed"] / figures["read_uncommitted"]}

    def _commit(self, side: Side, producers: int) -> dict[str, float]:
        plan = self._plan
        return run_client(side, _CLIENTS, "commit", side.bootstrap, "committed", producers, plan.warm, plan.seconds)


def rows_of_one(found: Mapping[str, Rounds]) -> Iterator[Row]:
    """The rows of `one_producer`."""
    title = "transaction of 100 records of 1 KB in 3 partitions, RF 3"
    yield found["p50"].row(f"{title}, p50, ms", 0.6)
    yield found["p99"].row(f"{title}, p99, ms", 0.6)
    yield found["cpu of one"].row("the same, one producer, CPU ms of all nodes", 1.0)


def rows_of_several(found: Mapping[str, Rounds]) -> Iterator[Row]:
    """The rows of `several_producers`."""
    title = f"{_PRODUCERS} producers"
    yield found["commits"].row(f"commits of {title} (ratio: Kafka / ours), a second", None, higher_is_better=True)
    yield found["cpu of several"].row(f"the same, {title}, CPU ms of all nodes", 1.0)


def rows_of_fetch(found: Mapping[str, Rounds]) -> Iterator[Row]:
    """The rows of `fetch`: our ratio has a bound, that of the reference stands in a row of its own."""
    yield found["read_committed"].row("fetch of committed records, CPU s a GB", None)
    ratios = found["committed / uncommitted"]
    yield Rounds(ratios.ours).own_row("fetch, CPU of read_committed / read_uncommitted, ratio", 1.1)
    if ratios.reference:
        yield Rounds(ratios.reference).own_row("Apache Kafka: the same, ratio", None)


def _cpu_ms(sent: Mapping[str, float]) -> float:
    return sent["cpu_s"] / sent["transactions"] * 1000


def _fetches(isolation_level: int) -> Load:
    frame = frames.fetch("read", _FETCH_BYTES, isolation_level)
    return Load(f"transactions-fetch-{isolation_level}", frame, _FETCH_CONNECTIONS)
