"""When a client discards its metadata and rebootstraps: the phases, signals and transitions.

One table for all four triggers (KIP-899 no usable node, KIP-1102 timer and Metadata's 129, KIP-1242 ApiVersions' 129),
read by the state machine in `rebootstrap.py`. Late or weaker signals are rows too: a signal that arrives during a round
over the bootstrap servers changes nothing, so nothing can cancel a rebootstrap that has begun.
"""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    BOOTSTRAP = "bootstrapping from bootstrap.servers; the cluster is unknown, no identity is sent"
    PAUSED = "every bootstrap server failed; waiting before the next round"
    STEADY = "the cluster is known"
    OVERDUE = "the cluster is known, but the last attempts to refresh Metadata failed; the timer runs"


class Signal(Enum):
    CLUSTER_ID_OBSERVED = "Metadata with brokers, of a cluster we accept"
    FOREIGN_CLUSTER = "Metadata of a cluster we do not accept"
    METADATA_FAILED = "an attempt to get Metadata failed, or it named no broker"
    METADATA_REJECTED = "Metadata answered 129 (KIP-1102)"
    SEEDS_EXHAUSTED = "no bootstrap server returned usable Metadata"
    PAUSE_OVER = "the wait between two rounds over the seeds has ended"
    TRIGGER_ELAPSED = "metadata.recovery.rebootstrap.trigger.ms since the first failed attempt (KIP-1102)"
    NO_USABLE_NODE = "no known node is usable (KIP-899)"
    ROUTE_REJECTED = "a node's address answered 129 to our identity (KIP-1242)"
    ROUTE_REJECTED_AGAIN = "the same, when starting over has just been tried and did not help"


class Action(Enum):
    IGNORE = "nothing"
    ADOPT = "take the Metadata as the view of the cluster"
    NEXT_SEED = "request Metadata from the next bootstrap server"
    PAUSE = "wait, then try the bootstrap servers again"
    ASK_SEEDS = "bootstrap again, with host names resolved again"
    ARM_TIMER = "let the timer run from this, the first, failure"
    START_OVER = "close every connection and discard the metadata; bootstrap again"
    QUARANTINE = "quarantine this route, keep everything else, refresh its address from a bootstrap server"


_P, _S, _A = Phase, Signal, Action

TRANSITIONS: dict[tuple[Phase, Signal], tuple[Phase, Action]] = {
    (_P.BOOTSTRAP, _S.CLUSTER_ID_OBSERVED): (_P.STEADY, _A.ADOPT),
    (_P.BOOTSTRAP, _S.FOREIGN_CLUSTER): (_P.BOOTSTRAP, _A.NEXT_SEED),
    (_P.BOOTSTRAP, _S.METADATA_FAILED): (_P.BOOTSTRAP, _A.NEXT_SEED),
    (_P.BOOTSTRAP, _S.METADATA_REJECTED): (_P.BOOTSTRAP, _A.NEXT_SEED),
    (_P.BOOTSTRAP, _S.SEEDS_EXHAUSTED): (_P.PAUSED, _A.PAUSE),
    (_P.BOOTSTRAP, _S.PAUSE_OVER): (_P.BOOTSTRAP, _A.IGNORE),
    (_P.BOOTSTRAP, _S.TRIGGER_ELAPSED): (_P.BOOTSTRAP, _A.IGNORE),
    (_P.BOOTSTRAP, _S.NO_USABLE_NODE): (_P.BOOTSTRAP, _A.IGNORE),
    (_P.BOOTSTRAP, _S.ROUTE_REJECTED): (_P.BOOTSTRAP, _A.IGNORE),
    (_P.BOOTSTRAP, _S.ROUTE_REJECTED_AGAIN): (_P.BOOTSTRAP, _A.IGNORE),
    (_P.PAUSED, _S.CLUSTER_ID_OBSERVED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.FOREIGN_CLUSTER): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.METADATA_FAILED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.METADATA_REJECTED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.SEEDS_EXHAUSTED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.PAUSE_OVER): (_P.BOOTSTRAP, _A.ASK_SEEDS),
    (_P.PAUSED, _S.TRIGGER_ELAPSED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.NO_USABLE_NODE): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.ROUTE_REJECTED): (_P.PAUSED, _A.IGNORE),
    (_P.PAUSED, _S.ROUTE_REJECTED_AGAIN): (_P.PAUSED, _A.IGNORE),
    (_P.STEADY, _S.CLUSTER_ID_OBSERVED): (_P.STEADY, _A.ADOPT),
    (_P.STEADY, _S.FOREIGN_CLUSTER): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.STEADY, _S.METADATA_FAILED): (_P.OVERDUE, _A.ARM_TIMER),
    (_P.STEADY, _S.METADATA_REJECTED): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.STEADY, _S.SEEDS_EXHAUSTED): (_P.STEADY, _A.IGNORE),
    (_P.STEADY, _S.PAUSE_OVER): (_P.STEADY, _A.IGNORE),
    (_P.STEADY, _S.TRIGGER_ELAPSED): (_P.STEADY, _A.IGNORE),
    (_P.STEADY, _S.NO_USABLE_NODE): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.STEADY, _S.ROUTE_REJECTED): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.STEADY, _S.ROUTE_REJECTED_AGAIN): (_P.STEADY, _A.QUARANTINE),
    (_P.OVERDUE, _S.CLUSTER_ID_OBSERVED): (_P.STEADY, _A.ADOPT),
    (_P.OVERDUE, _S.FOREIGN_CLUSTER): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.OVERDUE, _S.METADATA_FAILED): (_P.OVERDUE, _A.IGNORE),
    (_P.OVERDUE, _S.METADATA_REJECTED): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.OVERDUE, _S.SEEDS_EXHAUSTED): (_P.OVERDUE, _A.IGNORE),
    (_P.OVERDUE, _S.PAUSE_OVER): (_P.OVERDUE, _A.IGNORE),
    (_P.OVERDUE, _S.TRIGGER_ELAPSED): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.OVERDUE, _S.NO_USABLE_NODE): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.OVERDUE, _S.ROUTE_REJECTED): (_P.BOOTSTRAP, _A.START_OVER),
    (_P.OVERDUE, _S.ROUTE_REJECTED_AGAIN): (_P.OVERDUE, _A.QUARANTINE),
}
