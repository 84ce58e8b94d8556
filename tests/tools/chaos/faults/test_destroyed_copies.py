"""Every copy of a topic's records is destroyed on real brokers: they log the lost offsets, and the cluster keeps
working."""

from __future__ import annotations

import time
from random import Random

import pytest
from tools.chaos.broker_logs import logged_losses, troubles
from tools.chaos.destroyed_topics import check_destroyed
from tools.chaos.faults.destroyed_copies import PARTITIONS, RECORDS, REMOVED, TRUNCATED, DestroyedCopies
from tools.chaos.faults.injector import FaultInjector
from tools.chaos.faults.power import Power
from tools.chaos.group import read_everything
from tools.chaos.plan import Fault, Kind, Target
from tools.chaos.state_reader import StateReader
from tools.chaos.still_topics import StillTopics


@pytest.mark.spec("D3")
def test_what_is_lost_stands_in_the_log(power: Power, state: StateReader) -> None:
    copies = DestroyedCopies(power, StillTopics([], state), Random(1))
    injector = FaultInjector(power.cluster, state, "no-topic", time.monotonic(), copies.acts())
    done = injector.inject(Fault(Kind.COPIES_DESTROYED, Target.STORE, 0.1, 0.0, 0.0))
    assert (done.kind, done.broker, state.what_is_missing(3)) == ("all copies destroyed", 0, "")
    (topic,) = copies.topics
    assert len(topic.before) == PARTITIONS * RECORDS
    assert len(topic.ledger.acknowledged) == 2 * PARTITIONS * RECORDS
    topic.found = read_everything(power.cluster.bootstrap(), topic.name, PARTITIONS, 30)
    logs = [broker.log_file for broker in power.cluster.brokers.values()]
    losses = [loss for log in logs for loss in logged_losses(log)]
    lost = {partition: 2 * RECORDS - len(topic.found[partition]) for partition in range(PARTITIONS)}
    assert 0 < lost[TRUNCATED] <= RECORDS == lost[REMOVED]
    check = check_destroyed(copies.topics, losses)
    assert (check.lost, check.lost_and_logged, check.examples) == (0, sum(lost.values()), ())
    (truncated,) = [loss for loss in losses if loss.topic_partition == (topic.name, TRUNCATED)]
    assert (truncated.first, truncated.last) == (RECORDS - lost[TRUNCATED], RECORDS - 1)
    (removed,) = [loss for loss in losses if loss.topic_partition == (topic.name, REMOVED)]
    assert (removed.first, removed.last) == (0, None)
    assert check_destroyed(copies.topics, []).lost == sum(lost.values())
    about = [line for log in logs for line in troubles(log) if topic.name in line]
    assert len(about) == 1, "one error, of the new leader"
    assert not [line for log in logs for line in troubles(log, {Kind.COPIES_DESTROYED.value}) if topic.name in line]
