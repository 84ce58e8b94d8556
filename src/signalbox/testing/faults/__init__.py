"""Faults that tests cause on purpose: addresses that lead elsewhere, connections that are cut, errors of brokers.

Each fault is an object that says what is wrong; `KafkaCluster.faults(...)` applies it and takes it back.
Nodes are named by their ids. `FAULTS` has all of them by name, for programs that give them as text.
"""

from __future__ import annotations

from signalbox.testing.faults.address_faults import BalanceAddress, RefuseConnections, SendElsewhere, SwapAddresses
from signalbox.testing.faults.broker_faults import FenceProducer, MoveCoordinator, MoveLeader
from signalbox.testing.faults.fault import Fault, FaultConflict
from signalbox.testing.faults.fault_text import FAULTS, fault_of, parse_fault
from signalbox.testing.faults.identity_faults import (
    CapApiVersions,
    CapVersions,
    RewriteMetadata,
    WrongCluster,
    WrongNode,
)
from signalbox.testing.faults.request_faults import (
    AnswerWithError,
    CutAfterRequest,
    CutBeforeRequest,
    DelayResponse,
    DropRequest,
    StallResponse,
    Throttle,
)
from signalbox.testing.faults.stream_faults import (
    CutAfterBytes,
    Delay,
    DropResponses,
    HalfOpen,
    ResetConnections,
    Stall,
)

__all__ = [
    "FAULTS",
    "AnswerWithError",
    "BalanceAddress",
    "CapApiVersions",
    "CapVersions",
    "CutAfterBytes",
    "CutAfterRequest",
    "CutBeforeRequest",
    "Delay",
    "DelayResponse",
    "DropRequest",
    "DropResponses",
    "Fault",
    "FaultConflict",
    "FenceProducer",
    "HalfOpen",
    "MoveCoordinator",
    "MoveLeader",
    "RefuseConnections",
    "ResetConnections",
    "RewriteMetadata",
    "SendElsewhere",
    "Stall",
    "StallResponse",
    "SwapAddresses",
    "Throttle",
    "WrongCluster",
    "WrongNode",
    "fault_of",
    "parse_fault",
]
