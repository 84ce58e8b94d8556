"""Processor time per request, or per gigabyte, on the data plane: ours and the C reference in turn.

Both sides get the same bytes from the same load generator. A round of one side lasts a second; the figures are the
medians of five rounds, the ratio is that of the medians.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import frames
from bench.c_programs import ConnectionsResult, Load, LoadResult, NewConnections, Reference
from bench.processes import cpu_seconds
from bench.subject import PRODUCE_TOPIC, Subject, fetch_topic
from bench.table import Row, at_most

FETCHES = ((1_024, 50, 2.5), (16_384, 16, 2.5), (65_536, 8, 2.2), (1_048_576, 4, 1.3))
PRODUCES = ((16_384, 16, 8, 3.0), (65_536, 64, 8, 2.0), (1_048_576, 1_000, 4, 1.2))
FETCH_SIZES = [size for size, _, _ in FETCHES]
ACKS_ALL = -1
_ONE_RECORD_BYTES = 180
_WARM_S = 0.3
_OURS, _BROKER, _ECHO, _SINK = "ours", "broker", "echo", "sink"


@dataclass(frozen=True)
class Contest:
    """A load for two sides, `ours` or a mode of the reference. `gb_of`: bytes that one request carries, if the figure
    is CPU seconds per GB and not microseconds per request. `fetch_bytes`: the size of the reference's response."""

    metric: str
    load: Load | NewConnections
    bound: float | None
    gb_of: int = 0
    fetch_bytes: int = 0
    sides: tuple[str, str] = (_OURS, _BROKER)

    @property
    def of_ours(self) -> bool:
        """False for the reference compared with itself."""
        return _OURS in self.sides


def contests() -> Iterator[Contest]:
    """The rows in the order of the table."""
    asks = frames.api_versions()
    yield Contest("ApiVersions, 100 connections, us a request", Load("api-versions", asks, 100), 2.3)
    # Without a bound beside C, whose accepted sockets have no state; beside another commit of ours it has one.
    yield Contest("new connection with ApiVersions, us a connection", NewConnections("connect", asks, 64), None)
    one = frames.produce(PRODUCE_TOPIC, frames.batch_of(_ONE_RECORD_BYTES, 1), 1, ACKS_ALL)
    yield Contest("one-record produce, 100 connections, us a request", Load("produce-one", one, 100), 4.5)
    for size, records, connections, bound in PRODUCES:
        frame = frames.produce(PRODUCE_TOPIC, frames.batch_of(size, records), records, ACKS_ALL)
        load = Load(f"produce-{size}", frame, connections)
        yield Contest(f"produce {human(size)}, CPU s a GB", load, bound, gb_of=size)
    for size, connections, bound in FETCHES:
        load = Load(f"fetch-{size}", frames.fetch(fetch_topic(size), size), connections)
        yield Contest(f"fetch {human(size)}, us a request", load, bound, fetch_bytes=size)
    bare = Load("bare-api-versions", frames.Frame(asks.data), 100)
    yield Contest("C itself: ApiVersions to bare echo, us a request", bare, 1.3, sides=(_BROKER, _ECHO))
    size, records, connections, _ = PRODUCES[-1]
    frame = frames.produce(PRODUCE_TOPIC, frames.batch_of(size, records), records, ACKS_ALL)
    bare = Load("bare-produce", frames.Frame(frame.data, frame.batch_at, records), connections)
    yield Contest(
        f"C itself: {human(size)} produce to recv + crc + pwrite, CPU s a GB",
        bare,
        1.3,
        gb_of=size,
        sides=(_BROKER, _SINK),
    )


def human(size_bytes: int) -> str:
    return f"{size_bytes // 2**20} MB" if size_bytes >= 2**20 else f"{size_bytes // 1024} KB"


@dataclass(frozen=True)
class _Side:
    """The target of a load, and the process whose processor time counts."""

    port: int
    pid: int

    def cost(self, contest: Contest, seconds: float) -> float:
        before = cpu_seconds(self.pid)
        result = contest.load.run(self.port, seconds)
        spent = cpu_seconds(self.pid) - before
        _check(contest, result)
        if contest.gb_of:
            return spent / (result.answers * contest.gb_of / 1e9)
        return spent / result.answers * 1e6


def _check(contest: Contest, result: LoadResult | ConnectionsResult) -> None:
    """Rejects a fetch without records, which would be cheap."""
    if contest.fetch_bytes and result.response_bytes < result.answers * contest.fetch_bytes:
        raise RuntimeError(f"{contest.metric}: {result.response_bytes} bytes in {result.answers} answers")


def measure(contest: Contest, subject: Subject, folder: Path, rounds: int, seconds: float) -> Row:
    """One row."""
    with ExitStack() as running:
        sides = []
        for name in contest.sides:
            if name == _OURS:
                sides.append(_Side(subject.port, subject.pid))
                continue
            if contest.fetch_bytes:
                answer = frames.fetch_answer_head(fetch_topic(contest.fetch_bytes), contest.fetch_bytes)
            else:
                answer = subject.api_versions_answer()
            reference = running.enter_context(Reference(folder / name, name, answer, contest.fetch_bytes))
            sides.append(_Side(reference.port, reference.pid))
        for side in sides:
            side.cost(contest, _WARM_S)
        costs = [[side.cost(contest, seconds) for side in sides] for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*costs, strict=True))
    return at_most(contest.metric, ours, theirs, contest.bound)


def compare(
    contest: Contest, subjects: tuple[Subject, Subject], rounds: int, seconds: float
) -> list[tuple[float, float]]:
    """The costs of two brokers of ours in each round; the first to be measured changes with each round."""
    sides = [_Side(subject.port, subject.pid) for subject in subjects]
    for side in sides:
        side.cost(contest, _WARM_S)
    costs = []
    for number in range(rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        cost = {at: sides[at].cost(contest, seconds) for at in order}
        costs.append((cost[0], cost[1]))
    return costs
