"""The latency of a change sent to a broker that is not the controller: from one client, and from 16 at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from bench.admin.exchange import Asked, exchange, quantile
from bench.admin.many import create_topics, delete_topics
from bench.admin.requests import all_metadata, alter, create, rejections
from bench.kafka.sides import Address, Side

CLIENTS = 16
_ROUNDS = 3
_REPLICAS = 3
Note = Callable[[str, float], None]


def target_broker(side: Side, creates: bool = False) -> Address:
    """A broker that is not the controller; the controller where creations are not forwarded."""
    controller = side.active_controller()
    if creates and not side.forwards_creations:
        return side.addresses[controller]
    return next(address for node_id, address in side.addresses.items() if node_id != controller)


class Changes:
    """Unused names for topics, and the topics that remain to be deleted."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._numbers = count()
        self._made: list[str] = []
        self._topics = [f"config-{client}" for client in range(CLIENTS)]
        create_topics(side, self._topics, 1, _REPLICAS)

    def alters(self, clients: int, each: int) -> list[list[Asked]]:
        """Every client changes a topic of its own."""
        return [[alter(topic, next(self._numbers)) for _ in range(each)] for topic in self._topics[:clients]]

    def creates(self, clients: int, each: int) -> list[list[Asked]]:
        return [[create([self._name()], 1, _REPLICAS) for _ in range(each)] for _ in range(clients)]

    def clean(self) -> None:
        """Deletes the created topics."""
        delete_topics(self._side, self._made)
        self._made = []

    def _name(self) -> str:
        self._made.append(f"made-{next(self._numbers)}")
        return self._made[-1]


def warm(side: Side, changes: Changes, seconds: float) -> None:
    """Sends requests of every kind, since a JVM needs a warm-up; ours gets the same."""
    kinds: tuple[tuple[float, bool, Callable[[], list[list[Asked]]]], ...] = (
        (0.2, False, lambda: [[all_metadata()] * 50] * CLIENTS),
        (0.5, False, lambda: changes.alters(CLIENTS, 5)),
        (0.3, True, lambda: changes.creates(CLIENTS, 2)),
    )
    for share, creates, made in kinds:
        left = seconds * share
        while left > 0:
            left -= exchange(target_broker(side, creates), made()).seconds
    changes.clean()


def measure_changes(side: Side, changes: Changes, requests: int, note: Note) -> None:
    """`requests` of each kind by one client and by all at once: p50, p99, processor time per request, and the medians
    of the rounds, which show how stable the machine was."""
    for name, kind, creates in (("alter", changes.alters, False), ("create", changes.creates, True)):
        address = target_broker(side, creates)
        for clients in (1, CLIENTS):
            taken: list[float] = []
            medians = []
            before = side.cpu_seconds()
            for _ in range(_ROUNDS):
                exchanged = exchange(address, kind(clients, max(2, requests // _ROUNDS // clients)))
                rejected = [text for answer in exchanged.answers for text in rejections(answer)]
                if rejected:
                    raise RuntimeError(f"{side.name}: {name} was rejected: {rejected[:3]}")
                taken += exchanged.milliseconds
                medians.append(quantile(exchanged.milliseconds, 0.5))
            spent_ms = (side.cpu_seconds() - before) * 1_000
            for label, value in _figures(taken, spent_ms, medians):
                note(f"{name} {clients} {label}", value)
        changes.clean()


def _figures(taken: list[float], spent_ms: float, medians: list[float]) -> Iterator[tuple[str, float]]:
    yield "p50", quantile(taken, 0.5)
    yield "p99", quantile(taken, 0.99)
    yield "CPU", spent_ms / len(taken)
    yield "spread", max(medians) / min(medians)
