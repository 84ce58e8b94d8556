"""Which faults come, in which order, and how long they last: a function of the seed and the store alone.

A first hand holds everything a run must show; later hands are dealt from the same kinds for as long as the run
lasts. Whom a fault hits is settled when it comes (who is the controller then?), by `Fault.draw`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random


class Kind(Enum):
    """What is done to a broker, to its network (`network.py`) or to the store (`stores.py`)."""

    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"
    PAUSE_IN_COMMIT = "SIGSTOP in a commit"  # while it holds the file's write lock
    REFUSE = "cut off"
    STALL = "stalled"
    MUTE = "answers cut off"
    STORE_KILL = "store SIGKILL"
    STORE_OUTAGE = "store outage"  # nobody can write
    STORE_CUT = "cut from the store"


class Target(Enum):
    """Which broker it is done to."""

    CONTROLLER = "controller"
    BYSTANDER = "bystander"  # any broker but the controller
    ANY = "any"
    STORE = "store"  # no broker


@dataclass(frozen=True, slots=True)
class Fault:
    """One broker is down or silent for `hold_s`; `gap_s` of peace follow once the cluster is whole again. A hasty
    fault lets the next one come before its broker is in sync again: then min.insync.replicas alone keeps data safe.
    """

    kind: Kind
    target: Target
    hold_s: float
    gap_s: float
    draw: float
    is_hasty: bool = False

    def choose(self, brokers: list[int], controller_id: int) -> int:
        """The broker it hits, 0 for none; with no controller at hand, any."""
        if self.target is Target.STORE:
            return 0
        candidates = sorted(brokers)
        if self.target is Target.CONTROLLER and controller_id in candidates:
            return controller_id
        if self.target is Target.BYSTANDER and len(candidates) > 1:
            candidates = [broker for broker in candidates if broker != controller_id]
        return candidates[int(self.draw * len(candidates))]


# (kind, target, longer than a session): the first hand, then the hands that follow.
Card = tuple[Kind, Target, bool]
_FIRST_OF_ALL: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.BYSTANDER, False),
    (Kind.PAUSE, Target.CONTROLLER, True),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.REFUSE, Target.CONTROLLER, False),
    (Kind.STALL, Target.ANY, True),
    (Kind.MUTE, Target.ANY, False),
)
_LATER_OF_ALL: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.ANY, False),
    (Kind.KILL, Target.BYSTANDER, False),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.PAUSE, Target.ANY, True),
    (Kind.REFUSE, Target.ANY, True),
    (Kind.STALL, Target.CONTROLLER, False),
    (Kind.MUTE, Target.CONTROLLER, True),
)
_OF_STORE: dict[str, tuple[Card, ...]] = {
    "sqlite": (
        (Kind.STORE_OUTAGE, Target.STORE, True),
        (Kind.PAUSE_IN_COMMIT, Target.CONTROLLER, True),
    ),
    "zookeeper": (
        (Kind.STORE_KILL, Target.STORE, False),
        (Kind.STORE_OUTAGE, Target.STORE, True),
        (Kind.STORE_CUT, Target.CONTROLLER, True),
        (Kind.PAUSE, Target.BYSTANDER, True),
    ),
}
_SHORTEST_S = 0.3  # that a process is dead for: to be noticed by its closed ports
_HASTE = 0.35  # how many of the later faults do not wait for their broker


def first_hand(store: str) -> tuple[Card, ...]:
    """All that a run on a store must show."""
    return _FIRST_OF_ALL + _OF_STORE[store]


def plan_faults(seed: int, session_s: float, store: str) -> Iterator[Fault]:
    """Endless; the first `len(first_hand(store))` faults are all a run must have."""
    random = Random(seed)
    hand, haste = first_hand(store), 0.0
    while True:
        for kind, target, is_long in random.sample(hand, len(hand)):
            hold_s, gap_s = _hold_s(random, kind, is_long, session_s), random.uniform(0.2, 1.2)
            yield Fault(kind, target, hold_s, gap_s, random.random(), random.random() < haste)
        hand, haste = _LATER_OF_ALL + _OF_STORE[store], _HASTE


def _hold_s(random: Random, kind: Kind, is_long: bool, session_s: float) -> float:
    if kind in (Kind.KILL, Kind.STORE_KILL):
        return random.choice((_SHORTEST_S, random.uniform(_SHORTEST_S, 2.5)))
    if is_long:
        return session_s + random.uniform(0.7, 2.0)
    return random.uniform(0.2, session_s * 0.6)
