"""The five states of a classic group and the transitions between them.

Two rules for this file: every transition is in the table, and nothing here depends on members or requests. The
table is read by `ClassicGroup.transition_to`, which rejects any other transition, and by the documentation.
"""

from __future__ import annotations

from enum import Enum

from signalbox.protocol.error_table import Error


class GroupState(Enum):
    """The value is the name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    """No members; committed offsets may remain. A group without members and offsets is removed."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """The coordinator waits for the members: each must join (again) before the rebalance timeout."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation has begun; the coordinator waits for the assignment of the group's leader."""
    STABLE = "Stable"
    """Every member has its assignment."""
    DEAD = "Dead"
    """Removed, or its partition moved to another coordinator."""


TRANSITIONS: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset((GroupState.PREPARING_REBALANCE, GroupState.DEAD)),
    GroupState.PREPARING_REBALANCE: frozenset((GroupState.COMPLETING_REBALANCE, GroupState.EMPTY, GroupState.DEAD)),
    GroupState.COMPLETING_REBALANCE: frozenset((GroupState.STABLE, GroupState.PREPARING_REBALANCE, GroupState.DEAD)),
    GroupState.STABLE: frozenset((GroupState.PREPARING_REBALANCE, GroupState.DEAD)),
    GroupState.DEAD: frozenset((GroupState.DEAD,)),
}

# The error of Heartbeat for a known member with the current generation.
HEARTBEAT_ERRORS: dict[GroupState, Error] = {
    GroupState.EMPTY: Error.UNKNOWN_MEMBER_ID,
    GroupState.PREPARING_REBALANCE: Error.REBALANCE_IN_PROGRESS,
    GroupState.COMPLETING_REBALANCE: Error.NONE,
    GroupState.STABLE: Error.NONE,
    GroupState.DEAD: Error.COORDINATOR_NOT_AVAILABLE,
}

# The error of DeleteGroups; NONE if a group in this state can be deleted.
DELETE_ERRORS: dict[GroupState, Error] = {
    GroupState.EMPTY: Error.NONE,
    GroupState.PREPARING_REBALANCE: Error.NON_EMPTY_GROUP,
    GroupState.COMPLETING_REBALANCE: Error.NON_EMPTY_GROUP,
    GroupState.STABLE: Error.NON_EMPTY_GROUP,
    GroupState.DEAD: Error.GROUP_ID_NOT_FOUND,
}
