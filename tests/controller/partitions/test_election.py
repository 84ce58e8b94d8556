"""Election strategies as a table of cases."""

from __future__ import annotations

import pytest

from signalbox.controller.partitions.election import RULES, Strategy, propose
from signalbox.metadata.entries.partition_state import LeaderRecoveryState
from tests.controller.contexts import make_context, tp

OFFLINE, UNCLEAN, PREFERRED, LEAVING = (
    Strategy.OFFLINE,
    Strategy.UNCLEAN,
    Strategy.PREFERRED,
    Strategy.CONTROLLED_SHUTDOWN,
)


@pytest.mark.parametrize(
    ("strategy", "alive", "leaving", "partition", "expected"),
    [
        # The first in-sync replica in assignment order; the ISR keeps its living members.
        (OFFLINE, (2, 3), (), "1* 2 3", (2, (2, 3))),
        (OFFLINE, (2, 3), (), "1* 2 3 isr 3 1", (3, (3,))),
        (OFFLINE, (2, 3), (), "1* 2 3 isr 1", None),
        (OFFLINE, (2, 3), (2,), "1* 2 3", (3, (3,))),
        # Unclean only if no in-sync replica is alive.
        (UNCLEAN, (2, 3), (), "1* 2 3 isr 1 3", (3, (3,))),
        (UNCLEAN, (2, 3), (), "1* 2 3 isr 1", (2, (2,))),
        (UNCLEAN, (), (), "1* 2 3", None),
        # Preferred: the first replica of the assignment, or no election.
        (PREFERRED, (1, 2, 3), (), "1 2* 3", (1, (1, 2, 3))),
        (PREFERRED, (1, 2, 3), (), "1 2* 3 isr 2 3", None),
        (PREFERRED, (2, 3), (), "1 2* 3", None),
        (PREFERRED, (1, 2, 3), (1,), "1 2* 3", None),
        # Controlled shutdown: brokers that shut down are removed from the ISR.
        (LEAVING, (1, 2, 3), (1,), "1* 2 3", (2, (2, 3))),
        (LEAVING, (1, 2, 3), (1, 2), "1* 2 3", (3, (3,))),
        (LEAVING, (1, 2, 3), (1,), "1* 2 3 isr 1", None),
    ],
)
def test_cases(
    strategy: Strategy,
    alive: tuple[int, ...],
    leaving: tuple[int, ...],
    partition: str,
    expected: tuple[int, tuple[int, ...]] | None,
) -> None:
    context = make_context(*alive, topics={"t": {0: partition}}, shutting_down=frozenset(leaving))
    proposal = propose(context, tp(0), strategy)
    assert (None if proposal is None else (proposal.leader, proposal.isr)) == expected


def test_an_unclean_leader_is_recovering() -> None:
    context = make_context(2, topics={"t": {0: "1* 2 isr 1"}})
    proposal = propose(context, tp(0), UNCLEAN)
    assert proposal is not None
    assert proposal.recovery is LeaderRecoveryState.RECOVERING


def test_a_replica_in_a_failed_directory_cannot_lead() -> None:
    context = make_context(2, 3, topics={"t": {0: "1* 2 3"}}, offline_replicas={2: frozenset({tp(0)})})
    proposal = propose(context, tp(0), OFFLINE)
    assert proposal is not None
    assert (proposal.leader, proposal.isr) == (3, (3,))


def test_a_partition_that_never_had_a_state_has_no_election() -> None:
    assert propose(make_context(1, topics={"t": {0: "1 isr new"}}), tp(0), OFFLINE) is None


def test_every_strategy_has_a_rule() -> None:
    assert set(RULES) == set(Strategy)
