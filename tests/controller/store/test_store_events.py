"""Notifications of the store become controller events in the order of arrival. The controller resigns on a change that
only a new election can load."""

from __future__ import annotations

import asyncio

from signalbox.common.clock import ManualClock
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision_queue import DecisionQueue
from signalbox.controller.event_batch import EventBatch
from signalbox.controller.records import BrokerLeft
from signalbox.controller.store.store_events import StoreEvents
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import StoreError
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context


class World:
    """A decision queue, the events of a store in memory, and the reasons for a resignation."""

    def __init__(self, context: ControllerContext | None) -> None:
        self.context = context
        self.ended: list[str] = []
        self.queue = DecisionQueue(ManualClock(), lambda: None, lambda seconds, call: None)
        store = MemoryMetadataStore(SharedEntries())
        self.events = StoreEvents(store, inputs(), self.queue, lambda: self.context, self.ended.append)


def test_a_failed_broker_is_an_internal_event() -> None:
    context = make_context(1, 2)
    world = World(context)
    world.events.on_brokers_changed({1: context.brokers[1]})
    world.events.log_dir_failed(1)
    gone, failed = world.queue.begin(EventBatch(context))
    assert (gone.future, failed.future) == (None, None)
    assert BrokerLeft(2) in gone.decide(context).records
    assert world.ended == []


def test_off_the_controller_there_is_nothing_to_compare_with() -> None:
    world = World(None)
    assert asyncio.run(world.events.shared_metadata_update()) is None
    assert not world.queue.is_ready


def test_a_change_that_only_a_new_election_can_load_ends_the_controller_epoch() -> None:
    world = World(make_context(1))
    world.events.on_corruption_changed()
    world.events.on_read_failed(StoreError("away"))
    assert world.ended == [
        "corrupt entries have changed in the metadata store: the next controller epoch reads them",
        "changes in the metadata store could not be read: away",
    ]
    assert not world.queue.is_ready
