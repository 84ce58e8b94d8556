"""Changes in the store become events in the active controller's queue (`store_watcher.py` reads the store, this module
makes the events).

Without a context (not the controller, or not loaded yet) there is nothing to compare with: the next load reads all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.controller.brokers.broker_control import ask_for_replicas, brokers_changed
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.control_requests.control_answers import Follow
from signalbox.controller.decision import Inputs
from signalbox.controller.decision_queue import DecisionQueue
from signalbox.controller.direct_writes.shared_metadata import read_shared, shared_changed
from signalbox.controller.entities.feature_control import controllers_changed
from signalbox.controller.event_batch import ControllerEvent
from signalbox.metadata.entries.feature_levels import LevelRanges
from signalbox.metadata.store.port import MetadataStore


class StoreEvents:
    """The observer of `StoreWatcher`. `end_epoch` is called with the reason if everything must be read again in a new
    controller epoch."""

    def __init__(
        self,
        store: MetadataStore,
        inputs: Inputs,
        queue: DecisionQueue,
        context: Callable[[], ControllerContext | None],
        end_epoch: Callable[[str], None],
    ) -> None:
        self._store = store
        self._inputs = inputs
        self._queue = queue
        self._context = context
        self._end_epoch = end_epoch

    def on_brokers_changed(self, brokers: Mapping[int, LiveBroker]) -> None:
        """The brokers that are registered now."""
        self._queue.add(self.event(lambda now, inputs: brokers_changed(now, inputs, brokers)))

    def on_controllers_changed(self, controllers: Mapping[int, LevelRanges]) -> None:
        """The dedicated controllers that are registered now."""
        self._queue.add(self.event(lambda now, inputs: controllers_changed(now, inputs, controllers)))

    def log_dir_failed(self, broker_id: int) -> None:
        """A broker lost a log directory."""
        self._queue.add(self.event(lambda now, _: ask_for_replicas(now, broker_id)))

    async def look_at_shared(self) -> None:
        """A broker below the gate made a direct metadata write (`direct_writes/`). StoreError, BadEntry."""
        if update := await self.shared_metadata_update():
            self._queue.add(update)

    def on_corruption_changed(self) -> None:
        """Corrupt entries changed. A new controller epoch reads them, as after a failover."""
        self._end_epoch("corrupt entries have changed in the metadata store: the next controller epoch reads them")

    def on_read_failed(self, error: Exception) -> None:
        """The store could not be read."""
        self._end_epoch(f"changes in the metadata store could not be read: {error}")

    async def shared_metadata_update(self) -> ControllerEvent | None:
        """The event that applies direct metadata writes of brokers (`direct_writes/`); None if there are none.
        StoreError, BadEntry."""
        read = await read_shared(self._store, self._context)
        return None if read is None else self.event(lambda now, inputs: shared_changed(now, inputs, read))

    def event(self, follow: Follow) -> ControllerEvent:
        """An internal event: it has no client."""
        return ControllerEvent(lambda now: follow(now, self._inputs))
