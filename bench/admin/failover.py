"""A node is killed while one client produces with acks=all and another creates topics: how long each has to wait.

Both have one request in flight. After a failure they request the leader from any running node and retry at once: the
figures contain no back-off of a client library. Times count from the kill; requests sent before it do not count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise

from bench import frames
from bench.admin.exchange import exchange
from bench.admin.latency import Note
from bench.admin.requests import create, create_at, elect_preferred, rejections
from bench.kafka.sides import Address, Line, Side, metadata, until
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.produce import ProduceRequest

_TOPIC = "failover"
_WHOLE_S, _GIVE_UP_S = 90.0, 60.0
_STEADY_S, _AFTER_S = 0.5, 1.0
_AGAIN_S, _PAUSE_S = 0.01, 0.002
_CREATE_TIMEOUT_MS = 5_000
_FAILURES = (OSError, ValueError, RuntimeError, LookupError)


@dataclass
class Probe:
    """An action that is repeated in a thread of its own, with the start and end time of each run."""

    once: Callable[[], None]
    done: list[tuple[float, float]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                self.once()
            except _FAILURES:
                time.sleep(_AGAIN_S)
            else:
                self.done.append((began, time.monotonic()))
                time.sleep(_PAUSE_S)

    def first_after(self, moment: float) -> float | None:
        """The end time of the first run that started after `moment`."""
        return next((done for began, done in list(self.done) if began >= moment), None)

    def longest_gap(self, since: float) -> float:
        """The longest time between two successes, of which the later one came after `since`."""
        times = [done for _, done in list(self.done)]
        return max(later - earlier for earlier, later in pairwise(times) if later > since)


@contextmanager
def running(probe: Probe) -> Iterator[Probe]:
    thread = threading.Thread(target=probe.run, daemon=True)
    thread.start()
    try:
        yield probe
    finally:
        probe.stop.set()
        thread.join()


class Producing:
    """One record at a time to one partition, acks=all, to its current leader."""

    def __init__(self, side: Side, partition: int) -> None:
        self._addresses = dict(side.addresses)
        self._partition = partition
        self._line: Line | None = None
        data = ProduceRequest.PartitionProduceData(index=partition, records=frames.plain(frames.batch_of(180, 1)))
        topic = ProduceRequest.TopicProduceData(name=_TOPIC, partition_data=[data])
        self._request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])

    def __call__(self) -> None:
        try:
            self._line = self._line or Line(self._leader())
            answer = self._line.ask(ApiKey.PRODUCE, 9, self._request)
            code = answer.responses[0].partition_responses[0].error_code
            if code:
                raise RuntimeError(f"rejected with {code}")
        except _FAILURES:
            if self._line is not None:
                self._line.close()
            self._line = None
            raise

    def _leader(self) -> Address:
        for address in self._addresses.values():
            try:
                found = metadata(address, [_TOPIC])
            except OSError:
                continue
            partitions = found.topics[0].partitions
            return self._addresses[next(p.leader_id for p in partitions if p.partition_index == self._partition)]
        raise RuntimeError("no node answers")


class Creating:
    """One topic at a time, of two replicas (so that two nodes suffice), at a node that is not killed."""

    _numbers = count()

    def __init__(self, side: Side, address: Address) -> None:
        self._side = side
        self._address = address

    def __call__(self) -> None:
        address = self._address
        if not self._side.forwards_creations:
            address = self._side.addresses[self._side.active_controller()]
        request = create([f"while-{next(self._numbers)}"], 1, 2, timeout_ms=_CREATE_TIMEOUT_MS)
        (answer,) = exchange(address, [[request]]).answers
        if rejections(answer):
            raise RuntimeError(str(rejections(answer)))


class Failovers:
    """Kills of one cluster; before each the cluster is healthy and every partition is at its preferred leader."""

    def __init__(self, side: Side) -> None:
        self._side = side
        nodes = sorted(side.addresses)
        self._orders = [nodes[at:] + nodes[:at] for at in range(len(nodes))]
        request = create_at(_TOPIC, self._orders, {"min.insync.replicas": "2"})
        (answer,) = exchange(side.addresses[side.active_controller()], [[request]]).answers
        if rejections(answer):
            raise RuntimeError(f"{side.name}: {rejections(answer)}")
        self.make_whole()

    def make_whole(self) -> None:
        until(self._in_sync, _WHOLE_S)
        until(self._elected, _WHOLE_S)

    def leader(self) -> float:
        """Seconds until a record sent after the kill of the leader is acknowledged. It is not the controller."""
        controller = self._side.active_controller()
        victim = next(order[0] for order in self._orders if order[0] != controller)
        with running(Probe(Producing(self._side, self._led_by(victim)))) as producing:
            killed = self._kill(victim)
            acknowledged = self._await(producing, killed)
        self._revive(victim)
        return acknowledged - killed

    def follower(self) -> float:
        """The longest wait between two acknowledged records around the kill of a follower, in seconds."""
        controller = self._side.active_controller()
        victim = next(order[0] for order in self._orders if order[0] != controller)
        leader = next(order[0] for order in self._orders if order[0] not in (controller, victim))
        with running(Probe(Producing(self._side, self._led_by(leader)))) as producing:
            killed = self._kill(victim)
            self._await(producing, killed)
            time.sleep(_AFTER_S)  # a delay may begin late
            self._await(producing, time.monotonic())
            stall = producing.longest_gap(killed)
        self._revive(victim)
        return stall

    def controller(self) -> tuple[float, float]:
        """Seconds after the kill of the active controller: the longest wait of a producer to a partition that keeps
        its leader, and the time until a topic can be created."""
        victim = self._side.active_controller()
        leader = next(order[0] for order in self._orders if order[0] != victim)
        producing, creating = (
            Probe(Producing(self._side, self._led_by(leader))),
            Probe(Creating(self._side, self._side.addresses[leader])),
        )
        with running(producing), running(creating):
            killed = self._kill(victim)
            created = self._await(creating, killed)
            self._await(producing, killed)
            time.sleep(_AFTER_S)
            self._await(producing, time.monotonic())
            stall = producing.longest_gap(killed)
        self._revive(victim)
        return stall, created - killed

    def _led_by(self, node_id: int) -> int:
        return next(index for index, order in enumerate(self._orders) if order[0] == node_id)

    def _kill(self, victim: int) -> float:
        time.sleep(_STEADY_S)
        killed = time.monotonic()
        self._side.kill(victim)
        return killed

    def _await(self, probe: Probe, moment: float) -> float:
        until(lambda: probe.first_after(moment) is not None, _GIVE_UP_S)
        found = probe.first_after(moment)
        assert found is not None
        return found

    def _revive(self, victim: int) -> None:
        self._side.restart(victim)
        self.make_whole()

    def _views(self) -> Iterator[list[tuple[int, int, int]]]:
        """Per node: for each partition its index, its leader, and the number of in-sync replicas."""
        for address in self._side.addresses.values():
            found = metadata(address, [_TOPIC])
            if len(found.brokers) < len(self._orders):
                raise RuntimeError("a node is missing")
            partitions = found.topics[0].partitions
            yield [(each.partition_index, each.leader_id, len(each.isr_nodes)) for each in partitions]

    def _in_sync(self) -> bool:
        try:
            views = list(self._views())
        except _FAILURES:
            return False
        everything = len(self._orders)
        return all(len(view) == everything and all(row[2] == everything for row in view) for view in views)

    def _elected(self) -> bool:
        try:
            exchange(self._side.addresses[self._side.active_controller()], [[elect_preferred()]])
            views = list(self._views())
        except _FAILURES:
            return False
        return all(leader == self._orders[index][0] for view in views for index, leader, _ in view)


def measure_failover(side: Side, kills: int, note: Note) -> None:
    """The worst and the median of `kills` of each kind."""
    failovers = Failovers(side)
    leaders = [failovers.leader() for _ in range(kills)]
    followers = [failovers.follower() for _ in range(kills)]
    controllers = [failovers.controller() for _ in range(kills)]
    for name, values in (
        ("leader", leaders),
        ("follower", followers),
        ("controller produce", [stall for stall, _ in controllers]),
        ("controller create", [created for _, created in controllers]),
    ):
        note(f"kill {name}", max(values))
        note(f"kill {name} median", sorted(values)[len(values) // 2])
