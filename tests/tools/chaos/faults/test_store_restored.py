"""Brokers that have seen newer entries reject an older store, and use it after an operator has accepted it."""

from __future__ import annotations

import time
from functools import partial

import pytest
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.changes.quota import Quotas
from tools.chaos.faults.injector import ClusterUnhealthy, FaultInjector
from tools.chaos.faults.power import Power
from tools.chaos.faults.store_copies import back_up_file
from tools.chaos.faults.store_restored import StoreRestored
from tools.chaos.plan import Fault, Kind, Target
from tools.chaos.state_reader import StateReader
from tools.chaos.still_topics import StillTopics

FAULT = Fault(Kind.STORE_RESTORED, Target.STORE, 0.1, 0.0, 0.0)


def test_the_cluster_goes_on_from_the_older_store(power: Power, state: StateReader) -> None:
    changer = SteadyChanger(0, Quotas(), lambda: (), 1)
    made = list(changer.histories)
    restored = StoreRestored(
        power, state, partial(back_up_file, power.cluster.folder / "metadata.db"), StillTopics([changer], state)
    )
    epoch = state.controller_epoch()
    done = FaultInjector(power.cluster, state, "no-topic", time.monotonic(), restored.acts()).inject(FAULT)
    assert (done.kind, done.broker) == ("store restored", 0)
    assert state.what_is_missing(3) == ""
    assert state.controller_epoch() > epoch + 1
    assert changer.set_back == made
    assert not set(map(id, made)) & set(map(id, changer.histories))


def test_a_broker_that_accepts_the_older_store_is_reported(power: Power, state: StateReader) -> None:
    """Here the store is not changed, so that the brokers do not reject it."""
    restored = StoreRestored(power, state, lambda: lambda: None, StillTopics([], state))
    injector = FaultInjector(power.cluster, state, "no-topic", time.monotonic(), restored.acts())
    with pytest.raises(ClusterUnhealthy, match="follows a store that is older than its logs"):
        injector.inject(FAULT)
    power.on([each for each in power.broker_ids if not power.cluster.brokers[each].running])
    injector.wait_until_healthy()
