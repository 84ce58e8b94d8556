"""The five states of a classic group and the steps between them.

Two rules for this file: every transition stands in the table, and nothing here knows a member or a request. The
table is read by `ClassicGroup.transition_to`, which refuses any other step, and by the documentation.
"""

from __future__ import annotations

from enum import Enum

from signalbox.protocol.error_table import Error


class GroupState(Enum):
    """The value is the word DescribeGroups and ListGroups use."""

    EMPTY = "Empty"
    """No members; offsets may be left. A group whose offsets are gone too is removed."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are waited for: each must join (again) before the rebalance timeout."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation is made; the leader's assignment is waited for."""
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

# What a known member with the right generation hears on a heartbeat.
HEARTBEAT_ANSWER: dict[GroupState, Error] = {
    GroupState.EMPTY: Error.UNKNOWN_MEMBER_ID,
    GroupState.PREPARING_REBALANCE: Error.REBALANCE_IN_PROGRESS,
    GroupState.COMPLETING_REBALANCE: Error.NONE,
    GroupState.STABLE: Error.NONE,
    GroupState.DEAD: Error.COORDINATOR_NOT_AVAILABLE,
}

# Whether such a group may be deleted, and why not.
DELETE_ANSWER: dict[GroupState, Error] = {
    GroupState.EMPTY: Error.NONE,
    GroupState.PREPARING_REBALANCE: Error.NON_EMPTY_GROUP,
    GroupState.COMPLETING_REBALANCE: Error.NON_EMPTY_GROUP,
    GroupState.STABLE: Error.NON_EMPTY_GROUP,
    GroupState.DEAD: Error.GROUP_ID_NOT_FOUND,
}
