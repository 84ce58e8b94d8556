"""Which faults come, in which order, and how long they last: a function of the seed alone.

A first hand holds everything a run must show; later hands are dealt from the same kinds for as long as the run
lasts. Whom a fault hits is settled when it comes (who is the controller then?), by `Fault.draw`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random


class Kind(Enum):
    """What is done to a broker."""

    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"


class Target(Enum):
    """Which broker it is done to."""

    CONTROLLER = "controller"
    BYSTANDER = "bystander"  # any broker but the controller
    ANY = "any"


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
        """The broker it hits; with no controller at hand, any."""
        candidates = sorted(brokers)
        if self.target is Target.CONTROLLER and controller_id in candidates:
            return controller_id
        if self.target is Target.BYSTANDER and len(candidates) > 1:
            candidates = [broker for broker in candidates if broker != controller_id]
        return candidates[int(self.draw * len(candidates))]


# (kind, target, longer than a session): the first hand, then the hands that follow.
Card = tuple[Kind, Target, bool]
FIRST_HAND: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.BYSTANDER, False),
    (Kind.PAUSE, Target.CONTROLLER, True),
    (Kind.PAUSE, Target.BYSTANDER, True),
    (Kind.PAUSE, Target.ANY, False),
)
LATER_HAND: tuple[Card, ...] = (
    (Kind.KILL, Target.CONTROLLER, False),
    (Kind.KILL, Target.ANY, False),
    (Kind.KILL, Target.BYSTANDER, False),
    (Kind.PAUSE, Target.ANY, False),
    (Kind.PAUSE, Target.ANY, True),
)
_HASTE = 0.35  # how many of the later faults do not wait for their broker


def plan_faults(seed: int, session_s: float) -> Iterator[Fault]:
    """Endless; the first `len(FIRST_HAND)` faults are all a run must have."""
    random = Random(seed)
    hand = FIRST_HAND
    while True:
        haste = 0.0 if hand is FIRST_HAND else _HASTE
        for kind, target, is_long in random.sample(hand, len(hand)):
            hold_s, gap_s = _hold_s(random, kind, is_long, session_s), random.uniform(0.2, 1.2)
            yield Fault(kind, target, hold_s, gap_s, random.random(), random.random() < haste)
        hand = LATER_HAND


def _hold_s(random: Random, kind: Kind, is_long: bool, session_s: float) -> float:
    if kind is Kind.KILL:
        return random.choice((0.0, random.uniform(0.0, 2.5)))
    if is_long:
        return session_s + random.uniform(0.7, 2.0)
    return random.uniform(0.2, session_s * 0.6)
