"""All brokers fail and restart: transcripts of a partition's leader and ISR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.brokers.broker_restarts import (
    after_unclean_shutdown,
    leader_lives,
    log_ends_reported,
    new_registrations,
    waited_long_enough,
)
from signalbox.controller.context import NO_LOG, ControllerContext, LiveBroker, LogEnd
from signalbox.controller.decision import Decision, LeadersAnnounced, MetadataAnnounced
from signalbox.controller.election.failover import take_over
from signalbox.controller.partitions.election_control import elect_leaders
from signalbox.controller.partitions.log_comparison import is_waiting
from signalbox.controller.records import BrokerHistoryKept
from signalbox.metadata.broker_history import BrokerHistory
from signalbox.metadata.entries.registration import RegisteredLogDir
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from tests.controller.cluster import inputs, registration
from tests.controller.contexts import after, make_context, states, tp

pytestmark = pytest.mark.spec("D3")

FULL, CUT = LogEnd(4, 100), LogEnd(4, 60)


def directory(broker_id: int) -> bytes:
    return bytes([broker_id]) * 16


def came(broker_id: int, epoch: int, previous: int = -1, directory_id: bytes | None = None) -> LiveBroker:
    """A broker with one log directory; `previous` is the broker epoch of the last clean shutdown."""
    found = RegisteredLogDir(directory_id or directory(broker_id), previous)
    return LiveBroker(registration(broker_id, log_dirs=(found,)), epoch)


def known(*broker_ids: int) -> dict[int, BrokerHistory]:
    """Histories: the last broker epoch of each is ten times its id."""
    return {each: BrokerHistory(each * 10, (directory(each),)) for each in broker_ids}


def all_dead(partition: str, *back: LiveBroker) -> ControllerContext:
    """The context that a new controller loads when the brokers `back` have registered again."""
    brokers = {each.registration.broker_id: each for each in back}
    return make_context(topics={"t": {0: partition}}, brokers=brokers, histories=known(1, 2, 3))


def unverified(context: ControllerContext) -> tuple[int, ...]:
    state = context.state(tp(0))
    assert state is not None
    return state.unverified


def returned(context: ControllerContext, broker: LiveBroker) -> tuple[Decision, ControllerContext]:
    decision = brokers_changed(context, inputs(), {**context.brokers, broker.registration.broker_id: broker})
    return decision, after(context, decision)


def reported(context: ControllerContext, broker_id: int, end: LogEnd) -> tuple[Decision, ControllerContext]:
    epoch = context.brokers[broker_id].broker_epoch
    decision = log_ends_reported(context, inputs(), broker_id, epoch, {tp(0): end})
    return decision, after(context, decision)


def test_a_broker_that_lost_its_directory_waits_for_the_others() -> None:
    context = all_dead("1 2 3*", came(1, 100, directory_id=b"another directory"[:16]))
    decision = take_over(context, inputs())
    assert states(decision) == {"t-0": "-1/9/5 isr 1 2 3"}
    context = after(context, decision)
    assert is_waiting(context, tp(0))
    assert unverified(context) == (1,)
    assert context.histories[1] == BrokerHistory(100, (b"another directory"[:16],), lost_log_dir_epoch=100)
    decision, context = reported(context, 1, NO_LOG)
    assert (states(decision), decision.effects) == ({}, (MetadataAnnounced((tp(0),)),))
    # Broker 2 is back with its log; broker 3 is still missing.
    decision, context = returned(context, came(2, 200))
    assert states(decision) == {"t-0": "-1/9/6 isr 1 2 3"}
    decision, context = reported(context, 2, CUT)
    assert states(decision) == {}
    decision, context = returned(context, came(3, 300))
    decision, context = reported(context, 3, FULL)
    assert states(decision) == {"t-0": "3/10/8 isr 3"}
    assert decision.effects == (LeadersAnnounced((tp(0),)),)
    assert (unverified(context), dict(context.log_ends)) == ((), {})


def test_a_broker_that_shut_down_cleanly_leads_at_once() -> None:
    """Last broker in a clean stop of the cluster: alone in the ISR, or with brokers that did not leave it in time."""
    for partition in ("1* 2 3 isr 1", "1* 2 3", "1 2* 3"):
        decision = take_over(all_dead(partition, came(1, 100, previous=10)), inputs())
        state = after(all_dead(partition, came(1, 100, previous=10)), decision).state(tp(0))
        assert state is not None
        assert (state.leader, state.isr, state.unverified) == (1, (1,), ()), partition


def test_a_clean_one_leads_although_an_unclean_one_came_first() -> None:
    context = all_dead("1 2 3*", came(1, 100))
    context = after(context, take_over(context, inputs()))
    decision, context = returned(context, came(2, 200, previous=20))
    assert states(decision) == {"t-0": "2/10/6 isr 1 2"}
    assert unverified(context) == (1,)
    # Broker 2 leads: the unverified member is removed from the ISR until it has caught up.
    decision = leader_lives(context, inputs(), 2, [tp(0)])
    assert states(decision) == {"t-0": "2/11/7 isr 2"}
    assert unverified(after(context, decision)) == ()


def test_a_directory_restored_from_an_older_copy_is_not_clean() -> None:
    """Its clean shutdown marker contains an older broker epoch than the last one."""
    context = all_dead("1* 2 3", came(1, 100, previous=9))
    assert states(take_over(context, inputs())) == {"t-0": "-1/9/5 isr 1 2 3"}


def test_a_partition_that_was_never_announced_to_a_broker_begins_empty(caplog: pytest.LogCaptureFixture) -> None:
    """The brokers failed before they received LeaderAndIsr; none has lost its log directory."""
    context = all_dead("1* 2 3", *(came(each, each * 100) for each in (1, 2, 3)))
    context = after(context, take_over(context, inputs()))
    for broker_id in (1, 2):
        decision, context = reported(context, broker_id, NO_LOG)
        assert states(decision) == {}
    decision, context = reported(context, 3, NO_LOG)
    assert states(decision) == {"t-0": "1/10/6 isr 1"}
    assert caplog.messages == [
        "Partition t-0 has an empty log on its new leader 1 (no member of the ISR has one, and the leader never lost a"
        " log directory): records from offset 0 on are lost, if there were any"
    ]


def test_a_new_partition_begins_empty_on_the_member_that_lost_no_log_directory() -> None:
    """Broker 1 lost its log directory. Broker 2 never did: it would have every acknowledged record."""
    lost = came(1, 100, directory_id=b"another directory"[:16])
    context = all_dead("1* 2 isr 1 2", lost, came(2, 200))
    context = after(context, take_over(context, inputs()))
    decision, context = reported(context, 1, NO_LOG)
    assert states(decision) == {}
    decision, context = reported(context, 2, NO_LOG)
    assert states(decision) == {"t-0": "2/10/6 isr 2"}


def test_a_lone_replica_is_asked_and_leads_unless_its_log_is_gone() -> None:
    context = all_dead("1* isr 1", came(1, 100))
    context = after(context, take_over(context, inputs()))
    decision, _ = reported(context, 1, CUT)
    assert states(decision) == {"t-0": "1/10/6 isr 1"}
    context = all_dead("1* isr 1", came(1, 100, directory_id=b"another directory"[:16]))
    context = after(context, take_over(context, inputs()))
    decision, context = reported(context, 1, NO_LOG)
    assert states(decision) == {}
    over = waited_long_enough(context, inputs(), {tp(0): 9})
    assert states(over) == {}
    context = after(context, over)
    accepted = elect_leaders(context, inputs(), election(1))
    assert states(accepted) == {"t-0": "1/10/6 isr 1"}
    state = after(context, accepted).state(tp(0))
    assert state is not None
    assert (state.unclean_epoch, state.unverified) == (10, ())


def election(kind: int) -> ElectLeadersRequest:
    partitions = ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0])
    return ElectLeadersRequest(election_type=kind, topic_partitions=[partitions], timeout_ms=1000)


def test_the_wait_ends_with_the_best_of_those_present() -> None:
    context = all_dead("1 2 3*", came(1, 100), came(2, 200))
    context = after(context, take_over(context, inputs()))
    for broker_id, end in ((1, CUT), (2, FULL)):
        decision, context = reported(context, broker_id, end)
        assert states(decision) == {}
    assert waited_long_enough(context, inputs(), {tp(0): 8}) == Decision()  # leader epoch of an earlier election
    decision = waited_long_enough(context, inputs(), {tp(0): 9})
    assert states(decision) == {"t-0": "2/10/6 isr 2"}
    assert not after(context, decision).waited


def test_after_the_wait_the_first_that_returns_with_a_log_leads() -> None:
    context = all_dead("1 2 3*", came(1, 100))
    context = after(context, take_over(context, inputs()))
    _, context = reported(context, 1, NO_LOG)
    context = after(context, waited_long_enough(context, inputs(), {tp(0): 9}))
    decision, context = returned(context, came(2, 200))
    decision, context = reported(context, 2, FULL)
    assert states(decision) == {"t-0": "2/10/7 isr 2"}


def test_a_member_that_fails_again_has_to_report_its_log_end_again() -> None:
    context = all_dead("1 2*", came(1, 100), came(2, 200))
    context = after(context, take_over(context, inputs()))
    _, context = reported(context, 1, CUT)
    stale = log_ends_reported(context, inputs(), 1, 99, {tp(0): FULL})
    assert stale == Decision()
    context = after(context, brokers_changed(context, inputs(), {2: context.brokers[2]}))
    assert context.log_ends == {tp(0): {}}
    decision, context = reported(context, 2, FULL)
    assert states(decision) == {}
    # It stays unverified, even after a clean shutdown while it waited.
    _, context = returned(context, came(1, 400, previous=100))
    assert unverified(context) == (1, 2)


def test_an_unclean_restart_beside_a_living_leader_only_costs_the_isr() -> None:
    brokers = {each: came(each, each * 10) for each in (1, 2, 3)}
    context = make_context(topics={"t": {0: "1* 2 3"}}, brokers=brokers, histories=known(1, 2, 3))
    decision, context = returned(context, came(2, 200))
    assert states(decision) == {"t-0": "1/8/4 isr 1 3"}
    assert unverified(context) == ()
    assert not is_waiting(context, tp(0))


def test_a_new_controller_keeps_an_unverified_member_until_the_leader_is_known_to_live() -> None:
    """The registered leader may have failed too. With an ISR of the leader alone, no other replica could be elected."""
    context = all_dead("1 2* 3", came(1, 100), came(2, 20), came(3, 30))
    decision = take_over(context, inputs())
    assert states(decision) == {"t-0": "2/8/4 isr 1 2 3"}
    context = after(context, decision)
    assert unverified(context) == (1,)
    gone = brokers_changed(context, inputs(), {1: context.brokers[1], 3: context.brokers[3]})
    assert states(gone) == {"t-0": "3/9/5 isr 1 3"}
    alive = leader_lives(context, inputs(), 2, [tp(0)])
    assert states(alive) == {"t-0": "2/9/5 isr 2 3"}


def test_each_registration_counts_once() -> None:
    context = all_dead("1* 2 3", came(1, 100), came(2, 20), came(3, 30))
    assert new_registrations(context) == {1}
    context = after(context, take_over(context, inputs()))
    assert new_registrations(context) == frozenset()
    assert not any(isinstance(each, BrokerHistoryKept) for each in take_over(context, inputs()).records)


@pytest.mark.parametrize(
    ("histories", "brokers", "expected"),
    [
        # Apache Kafka's brokers and older versions do not name their directories.
        (known(1), {1: LiveBroker(registration(1), 100)}, frozenset()),
        # A cluster of an older version has no histories: the markers decide.
        ({}, {1: came(1, 100, previous=5), 2: came(2, 200)}, {2}),
        # One log directory of two is lost, or was not mounted.
        ({1: BrokerHistory(10, (directory(1), directory(7)))}, {1: came(1, 100, previous=10)}, {1}),
    ],
)
def test_what_an_unclean_shutdown_is(
    histories: Mapping[int, BrokerHistory], brokers: dict[int, LiveBroker], expected: frozenset[int]
) -> None:
    context = replace(make_context(), histories=histories, brokers=brokers)
    assert after_unclean_shutdown(context, brokers) == expected
