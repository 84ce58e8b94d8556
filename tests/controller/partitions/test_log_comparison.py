"""Comparison of logs: the longest one, when the comparison must wait, and properties for every ISR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.controller.context import NO_LOG, ControllerContext, LogEnd
from signalbox.controller.partitions.election import Strategy, propose
from signalbox.controller.partitions.log_comparison import fullest_log, is_waiting, longest_log, offline_reason
from signalbox.metadata.broker_history import BrokerHistory
from signalbox.metadata.entries.registration import RegisteredLogDir
from tests.controller.contexts import make_context, tp

pytestmark = pytest.mark.spec("D3")


def leaderless(
    alive: tuple[int, ...], isr: str, unverified: tuple[int, ...], ends: dict[int, LogEnd], **fields: Any
) -> ControllerContext:
    """Partition t-0 on 1, 2, 3 without a leader."""
    context = make_context(*alive, topics={"t": {0: f"1 2 3 isr {isr}"}}, log_ends={tp(0): ends}, **fields)
    topic = context.topics["t"]
    state = replace(topic.states[0], unverified=unverified)
    return replace(context, topics={"t": replace(topic, states={0: state})})


def longest(context: ControllerContext) -> int | None:
    state = context.state(tp(0))
    assert state is not None
    return longest_log(context, tp(0), state)


FULL, CUT, NEWER, EMPTY = LogEnd(4, 100), LogEnd(4, 60), LogEnd(5, 70), LogEnd(-1, 0)


@pytest.mark.parametrize(
    ("alive", "isr", "unverified", "ends", "waited", "expected"),
    [
        # All have returned and reported log ends: newest leader epoch, then longest log, then order of assignment.
        ((1, 2, 3), "1 2 3", (1, 2, 3), {1: CUT, 2: FULL, 3: CUT}, False, 2),
        ((1, 2, 3), "1 2 3", (1, 2, 3), {1: FULL, 2: FULL, 3: NEWER}, False, 3),
        ((1, 2, 3), "3 2 1", (1, 2, 3), {1: FULL, 2: FULL, 3: FULL}, False, 1),
        ((1, 2, 3), "1 2 3", (1, 2, 3), {1: NO_LOG, 2: EMPTY, 3: NO_LOG}, False, 2),
        # A member is absent or has not reported: wait.
        ((1, 2), "1 2 3", (1, 2), {1: FULL, 2: FULL}, False, None),
        ((1, 2, 3), "1 2 3", (1, 2, 3), {1: FULL, 2: FULL}, False, None),
        # The wait is over: the longest log of those present, but never a replica without a log.
        ((1, 2), "1 2 3", (1, 2), {1: CUT, 2: FULL}, True, 2),
        ((1, 2), "1 2 3", (1, 2), {1: NO_LOG, 2: CUT}, True, 2),
        ((1,), "1 2 3", (1,), {1: NO_LOG}, True, None),
        ((1,), "1 2 3", (1,), {}, True, None),
        # There is no other member: at once, unless its log directory is a new one.
        ((1,), "1", (1,), {1: CUT}, False, 1),
        ((1,), "1", (1,), {1: NO_LOG}, False, None),
        # Replicas outside the ISR do not count, however long their logs are.
        ((1, 2), "1", (1,), {1: CUT, 2: FULL}, False, 1),
        # Without an unclean shutdown there is nothing to compare.
        ((2,), "1", (), {2: FULL}, True, None),
    ],
)
def test_the_longest_log(
    alive: tuple[int, ...],
    isr: str,
    unverified: tuple[int, ...],
    ends: dict[int, LogEnd],
    waited: bool,
    expected: int | None,
) -> None:
    context = leaderless(alive, isr, unverified, ends, waited=frozenset({tp(0)} if waited else ()))
    assert longest(context) == expected
    proposal = propose(context, tp(0), Strategy.OFFLINE)
    assert (None if proposal is None else (proposal.leader, proposal.isr)) == (
        None if expected is None else (expected, (expected,))
    )


LOST_AT = 9  # the broker epoch


def with_histories(context: ControllerContext, *lost: int, created_after: int = LOST_AT - 1) -> ControllerContext:
    """The brokers register the same log directories as before; those in `lost` had others before epoch LOST_AT."""
    brokers = {
        broker_id: replace(
            broker, registration=replace(broker.registration, log_dirs=(RegisteredLogDir(bytes([broker_id]) * 16, -1),))
        )
        for broker_id, broker in context.brokers.items()
    }
    histories = {
        broker_id: BrokerHistory(LOST_AT, (bytes([broker_id]) * 16,), LOST_AT if broker_id in lost else -1)
        for broker_id in brokers
    }
    topics = {name: replace(topic, created_after=created_after) for name, topic in context.topics.items()}
    return replace(context, brokers=brokers, histories=histories, topics=topics)


@pytest.mark.parametrize(
    ("alive", "isr", "ends", "lost", "waited", "expected"),
    [
        # The brokers failed before LeaderAndIsr reached them: no replica ever had a log.
        ((1, 2, 3), "1 2 3", {1: NO_LOG, 2: NO_LOG, 3: NO_LOG}, (), False, 1),
        ((2, 3), "2 3", {2: NO_LOG, 3: NO_LOG}, (), False, 2),
        # Some members may have lost their logs: one that did not would have every acknowledged record.
        ((1, 2, 3), "1 2 3", {1: NO_LOG, 2: NO_LOG, 3: NO_LOG}, (2,), False, 1),
        ((1, 2, 3), "1 2 3", {1: NO_LOG, 2: NO_LOG, 3: NO_LOG}, (1, 2), True, 3),
        # All may have lost them, or one is absent and may have a log.
        ((1, 2, 3), "1 2 3", {1: NO_LOG, 2: NO_LOG, 3: NO_LOG}, (1, 2, 3), True, None),
        ((1, 2), "1 2 3", {1: NO_LOG, 2: NO_LOG}, (), True, None),
    ],
)
def test_a_partition_that_no_broker_ever_had_a_log_of(
    alive: tuple[int, ...], isr: str, ends: dict[int, LogEnd], lost: tuple[int, ...], waited: bool, expected: int | None
) -> None:
    waits = frozenset({tp(0)} if waited else ())
    context = leaderless(alive, isr, alive, ends, waited=waits)
    assert longest(with_histories(context, *lost)) == expected
    assert longest(context) is None  # brokers that do not register their log directories


def test_a_loss_before_the_topic_was_created_does_not_count() -> None:
    context = leaderless((1, 2), "1 2", (1, 2), {1: NO_LOG, 2: NO_LOG})
    assert longest(with_histories(context, 1, 2)) is None
    assert longest(with_histories(context, 1, 2, created_after=LOST_AT)) == 1


def test_who_came_back_whole_leads_at_once_and_the_others_stay_unverified() -> None:
    context = leaderless((1, 2), "1 2 3", (1,), {})
    proposal = propose(context, tp(0), Strategy.OFFLINE)
    assert proposal is not None
    assert (proposal.leader, proposal.isr) == (2, (1, 2))
    assert not is_waiting(replace(context, waited=frozenset({tp(0)})), tp(0))


def test_an_unclean_election_takes_the_fullest_log_of_all_replicas() -> None:
    ends = {1: NO_LOG, 2: CUT, 3: FULL}
    assert fullest_log(leaderless((1, 2, 3), "1", (1,), ends), tp(0)) == 3
    assert fullest_log(leaderless((1, 2), "1", (1,), {1: NO_LOG}), tp(0)) == 2  # its log end is not known
    assert fullest_log(leaderless((1,), "1", (1,), {1: NO_LOG}), tp(0)) == 1
    assert fullest_log(leaderless((), "1", (), {}), tp(0)) is None
    proposal = propose(leaderless((1, 2, 3), "1", (1,), ends), tp(0), Strategy.UNCLEAN)
    assert proposal is not None
    assert (proposal.leader, proposal.isr, proposal.is_unclean) == (3, (3,), True)


def test_the_reason_says_what_to_do() -> None:
    def reason(context: ControllerContext) -> str:
        state = context.state(tp(0))
        assert state is not None
        return offline_reason(context, tp(0), state)

    accept = "accept the loss with `signalbox topic elect t --unclean`"
    assert reason(leaderless((), "1 2", (), {})) == (
        f"no in-sync replica is alive (ISR 1, 2): start broker 1, 2 with its log directory, or {accept}"
    )
    assert reason(leaderless((1,), "1 2 3", (1,), {1: CUT})) == (
        "broker 1 came back after an unclean shutdown and waits for broker 2, 3:"
        f" start broker 2, 3 with its log directory, or {accept}"
    )
    assert "1 came back after an unclean shutdown and is asked where its log ends" in reason(
        leaderless((1,), "1", (1,), {})
    )
    lost = leaderless((1,), "1", (1,), {1: NO_LOG}, waited=frozenset({tp(0)}))
    assert reason(lost) == f"broker 1 came back without its log: restore a log directory, or {accept}"


LOGS = st.one_of(st.just(NO_LOG), st.builds(LogEnd, st.integers(-1, 3), st.integers(0, 5)))


@given(
    ends=st.fixed_dictionaries({1: LOGS, 2: LOGS, 3: LOGS}),
    order=st.permutations([1, 2, 3]),
    isr=st.sets(st.sampled_from([1, 2, 3]), min_size=1),
    patience=st.integers(0, 3),
)
def test_in_any_order_of_return_the_longest_log_leads_or_no_replica_does(
    ends: dict[int, LogEnd], order: list[int], isr: set[int], patience: int
) -> None:
    """Brokers return one after the other; the wait ends after `patience` of them."""
    members = " ".join(map(str, sorted(isr)))
    for count in range(1, 4):
        back = tuple(order[:count])
        unverified = tuple(sorted(isr & set(back)))
        waited = frozenset({tp(0)} if count > patience else ())
        context = leaderless(back, members, unverified, {each: ends[each] for each in back}, waited=waited)
        leader = longest(context)
        with_logs = [ends[each] for each in unverified if ends[each] != NO_LOG]
        if leader is None:
            assert not with_logs or (isr - set(back) and not waited)
            continue
        assert leader in isr
        assert ends[leader] == max(with_logs)  # ordered as tuples of (epoch, end offset)
        assert waited or isr <= set(back)
        return
