"""The faults, their order and their duration: a function of the seed and the store alone.

A first set of faults holds everything a run must cover, in a minute. Later sets follow as long as the run lasts:
alternately one of all faults of disks, and one of kills, pauses and cuts; five minutes cover every kind (`every_kind`).
Only such a long run destroys every copy of a partition (`destroyed_copies.py`): that fault alone takes half a minute.
The broker that a fault hits is chosen when it begins (as the controller may change), by `Fault.choose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import cycle
from random import Random


class Kind(Enum):
    """What is done to a broker, to its network (`network.py`) or to the store (`stores.py`)."""

    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"
    PAUSE_IN_COMMIT = "SIGSTOP in a commit"  # while it holds the file's write lock
    CUT_OFF = "cut off"
    STALL = "stalled"
    MUTE = "answers cut off"
    STORE_KILL = "store SIGKILL"
    STORE_OUTAGE = "store outage"  # no node can write
    STORE_CUT = "cut from the store"
    STORE_RESTORED = "store restored"  # all brokers down, the store restored from an older copy
    KILL_ALL = "all SIGKILL"
    # A broker is killed, and its log directory gets a fault meanwhile (`directory_faults.py`).
    WIPED = "wiped"
    TRUNCATED = "truncated"
    FLIPPED = "bits flipped"
    RESTORED = "restored"
    # The same, but all brokers are killed at once, and the faulty one starts first.
    ALL_WIPED = "all SIGKILL, first wiped"
    ALL_TRUNCATED = "all SIGKILL, first truncated"
    ALL_FLIPPED = "all SIGKILL, first flipped"
    ALL_RESTORED = "all SIGKILL, first restored"
    # All brokers are killed, and on each one log of a topic is truncated, another is removed (`destroyed_copies.py`).
    COPIES_DESTROYED = "all copies destroyed"
    DESCRIPTORS = "out of descriptors"  # connections to all its client-facing ports


LONG_RUN_S = 300.0
"""The shortest run that must contain every kind of fault."""
ALL_DOWN = frozenset(
    {
        *(Kind.KILL_ALL, Kind.ALL_WIPED, Kind.ALL_TRUNCATED, Kind.ALL_FLIPPED, Kind.ALL_RESTORED),
        *(Kind.STORE_RESTORED, Kind.COPIES_DESTROYED),
    }
)
"""Faults that stop every broker."""
_ONE_DIRECTORY = frozenset({Kind.WIPED, Kind.TRUNCATED, Kind.FLIPPED, Kind.RESTORED})
NEED_ALL_IN_SYNC = ALL_DOWN | _ONE_DIRECTORY
"""Faults after which all replicas but one may be needed: one begins, and the next fault, when all are in sync."""


class Target(Enum):
    """The choice of the broker that a fault hits."""

    CONTROLLER = "controller"
    BYSTANDER = "bystander"  # any broker but the controller
    ANY = "any"
    STORE = "store"  # no broker


@dataclass(frozen=True, slots=True)
class Fault:
    """One broker is down or does not respond for `hold_s`; `gap_s` without a fault follow once the cluster is healthy
    again. After a hasty fault the next one begins before its broker is in sync: min.insync.replicas alone keeps data
    safe.
    """

    kind: Kind
    target: Target
    hold_s: float
    gap_s: float
    draw: float
    is_hasty: bool = False

    def choose(self, brokers: list[int], controller_id: int) -> int:
        """The broker it hits, 0 for none; if no controller is active, any."""
        if self.target is Target.STORE:
            return 0
        candidates = sorted(brokers)
        if self.target is Target.CONTROLLER and controller_id in candidates:
            return controller_id
        if self.target is Target.BYSTANDER and len(candidates) > 1:
            candidates = [broker for broker in candidates if broker != controller_id]
        return candidates[int(self.draw * len(candidates))]


# (kind, target, longer than a session): the first set, then the sets that follow.
Card = tuple[Kind, Target, bool]
_FIRST_OF_ALL: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.PAUSE, Target.CONTROLLER, True),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.CUT_OFF, Target.CONTROLLER, False),
    (Kind.CUT_OFF, Target.ANY, False),
    (Kind.STALL, Target.ANY, False),
    (Kind.MUTE, Target.ANY, False),
    (Kind.MUTE, Target.CONTROLLER, False),
    (Kind.DESCRIPTORS, Target.ANY, False),
)
_LIGHTER: tuple[Card, ...] = (  # one of them is in the first set too
    (Kind.KILL_ALL, Target.ANY, False),
    (Kind.WIPED, Target.ANY, False),
    (Kind.TRUNCATED, Target.ANY, False),
    (Kind.FLIPPED, Target.ANY, False),
    (Kind.RESTORED, Target.ANY, False),
)
_HEAVIER: tuple[Card, ...] = (
    (Kind.ALL_WIPED, Target.ANY, False),
    (Kind.ALL_TRUNCATED, Target.ANY, False),
    (Kind.ALL_FLIPPED, Target.ANY, False),
    (Kind.ALL_RESTORED, Target.ANY, False),
)
_SECOND: tuple[Card, ...] = (
    *(*_LIGHTER, *_HEAVIER, (Kind.STORE_RESTORED, Target.STORE, False)),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.CUT_OFF, Target.ANY, False),
    (Kind.STALL, Target.CONTROLLER, False),
    (Kind.MUTE, Target.ANY, False),
)
"""All faults of disks, of all brokers at once and of the restored store; and a few pauses and cuts between them."""
_SECOND_OF_LONG_RUNS: tuple[Card, ...] = (
    *_SECOND,
    (Kind.COPIES_DESTROYED, Target.STORE, False),
    (Kind.PAUSE, Target.CONTROLLER, False),
    (Kind.PAUSE, Target.BYSTANDER, False),
    (Kind.CUT_OFF, Target.CONTROLLER, False),
    (Kind.CUT_OFF, Target.BYSTANDER, False),
    (Kind.STALL, Target.ANY, False),
    (Kind.STALL, Target.BYSTANDER, False),
    (Kind.MUTE, Target.CONTROLLER, False),
)
"""More pauses and cuts: a fault of all brokers takes up to 20 s on ZooKeeper, where sessions must end, and a run must
have one fault in ten seconds on average."""
_LATER_OF_ALL: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.BYSTANDER, False),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.PAUSE, Target.ANY, True),
    (Kind.CUT_OFF, Target.ANY, True),
    (Kind.STALL, Target.CONTROLLER, False),
    (Kind.MUTE, Target.CONTROLLER, True),
    (Kind.CUT_OFF, Target.ANY, False),
    (Kind.STALL, Target.ANY, False),
    (Kind.MUTE, Target.ANY, False),
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
_SHORTEST_S = 0.3  # shortest time for which a process is dead: its peers notice its closed ports
_HASTE = 0.35  # share of the later faults that do not wait for their broker


def least_faults(store: str, *, is_long: bool = False) -> int:
    """The minimum number of faults of a run: all of the first set, and those of the second one in a long run."""
    return len(_FIRST_OF_ALL) + len(_OF_STORE[store]) + 1 + (len(_SECOND_OF_LONG_RUNS) if is_long else 0)


def every_kind(store: str) -> frozenset[Kind]:
    """All kinds that a long run must cover."""
    return frozenset(kind for kind, _, _ in (*_FIRST_OF_ALL, *_OF_STORE[store], *_SECOND_OF_LONG_RUNS))


def plan_faults(seed: int, session_s: float, store: str, *, is_long: bool = False) -> Iterator[Fault]:
    """Endless: first the set that every run must have, then the two others alternately."""
    random, second = Random(seed), _SECOND_OF_LONG_RUNS if is_long else _SECOND
    hand = (*_FIRST_OF_ALL, *_OF_STORE[store], random.choice(_LIGHTER))
    next_hands, haste = cycle((second, _LATER_OF_ALL + _OF_STORE[store])), 0.0
    while True:
        for kind, target, is_long in random.sample(hand, len(hand)):
            hold_s, gap_s = _hold_s(random, kind, is_long, session_s), random.uniform(0.2, 1.2)
            is_hasty = random.random() < haste and kind not in NEED_ALL_IN_SYNC
            yield Fault(kind, target, hold_s, gap_s, random.random(), is_hasty)
        hand, haste = next(next_hands), _HASTE


def _hold_s(random: Random, kind: Kind, is_long: bool, session_s: float) -> float:
    if kind in NEED_ALL_IN_SYNC or kind in (Kind.KILL, Kind.KILL_ALL, Kind.STORE_KILL):
        return random.choice((_SHORTEST_S, random.uniform(_SHORTEST_S, 2.5)))
    if is_long:
        return session_s + random.uniform(0.7, 2.0)
    return random.uniform(0.2, session_s * 0.6)
