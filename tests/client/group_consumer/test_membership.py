from __future__ import annotations

import pytest

from signalbox.client.group_consumer.member_subscription import NO_GENERATION
from signalbox.client.group_consumer.membership import NO_MEMBER_ID, REACTIONS, Membership, Reaction, Step, reaction_to
from signalbox.protocol.error_table import Error


def member() -> Membership:
    made = Membership()
    made.joined("m-1", 4, "range")
    made.synced()
    return made


@pytest.mark.parametrize(
    ("step", "error", "reaction"),
    [
        (Step.JOIN, Error.MEMBER_ID_REQUIRED, Reaction.TAKE_MEMBER_ID),
        (Step.JOIN, Error.UNKNOWN_MEMBER_ID, Reaction.REJOIN_AS_NEW),
        (Step.JOIN, Error.GROUP_MAX_SIZE_REACHED, Reaction.FAIL),
        (Step.JOIN, Error.INCONSISTENT_GROUP_PROTOCOL, Reaction.FAIL),
        (Step.JOIN, Error.COORDINATOR_LOAD_IN_PROGRESS, Reaction.RETRY),
        (Step.SYNC, Error.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
        (Step.SYNC, Error.ILLEGAL_GENERATION, Reaction.REJOIN_WITHOUT_GENERATION),
        (Step.HEARTBEAT, Error.NONE, Reaction.ACCEPT),
        (Step.HEARTBEAT, Error.NOT_COORDINATOR, Reaction.FIND_COORDINATOR),
        (Step.HEARTBEAT, Error.FENCED_INSTANCE_ID, Reaction.FAIL),
        (Step.COMMIT, Error.UNKNOWN_MEMBER_ID, Reaction.REJOIN_AS_NEW),
        (Step.COMMIT, Error.TOPIC_AUTHORIZATION_FAILED, Reaction.FAIL),
        (Step.COMMIT, Error.UNKNOWN_TOPIC_OR_PARTITION, Reaction.RETRY),
    ],
)
def test_reactions(step: Step, error: Error, reaction: Reaction) -> None:
    assert reaction_to(step, error) is reaction


def test_every_step_has_a_reaction_to_every_error() -> None:
    for step in Step:
        for error in Error:
            reaction = reaction_to(step, error)
            assert (reaction is Reaction.ACCEPT) == (error is Error.NONE)
    assert {error for _, error in REACTIONS} <= set(Error)


def test_a_member_joins_in_three_steps() -> None:
    one = Membership()
    assert (one.needs_join, one.is_member) == (True, False)
    one.react(Reaction.TAKE_MEMBER_ID, "m-1")
    assert one.member_id == "m-1"
    one.joined("m-1", 4, "range")
    assert (one.needs_join, one.is_member, one.identity) == (True, True, ("m-1", 4))
    one.synced()
    assert (one.needs_join, one.lost) == (False, False)


@pytest.mark.parametrize(
    ("reaction", "member_id", "generation", "lost"),
    [
        (Reaction.REJOIN, "m-1", 4, False),
        (Reaction.REJOIN_WITHOUT_GENERATION, "m-1", NO_GENERATION, True),
        (Reaction.REJOIN_AS_NEW, NO_MEMBER_ID, NO_GENERATION, True),
    ],
)
def test_what_a_member_keeps_when_it_has_to_rejoin(
    reaction: Reaction, member_id: str, generation: int, lost: bool
) -> None:
    one = member()
    one.react(reaction)
    assert (one.needs_join, one.member_id, one.generation, one.lost) == (True, member_id, generation, lost)


@pytest.mark.parametrize("reaction", [Reaction.ACCEPT, Reaction.RETRY, Reaction.FIND_COORDINATOR, Reaction.FAIL])
def test_other_reactions_leave_the_membership_as_it_is(reaction: Reaction) -> None:
    one = member()
    one.react(reaction)
    assert one == member()


def test_a_member_that_has_left_has_lost_its_partitions() -> None:
    one = member()
    one.left()
    assert (one.member_id, one.lost, one.needs_join) == (NO_MEMBER_ID, True, True)


def test_a_member_that_never_joined_has_nothing_to_lose() -> None:
    one = Membership()
    one.react(Reaction.REJOIN_AS_NEW)
    assert not one.lost
