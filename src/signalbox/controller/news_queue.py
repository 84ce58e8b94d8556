"""What the store tells of becomes events of the active controller's queue (`store_news.py` looks, this says what for).

Off the controller, and while it takes over, there is nothing to compare with: the load that comes next reads it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.controller.broker_control import ask_for_replicas, brokers_changed
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.control_answers import Follow
from signalbox.controller.decision import Inputs
from signalbox.controller.decision_queue import DecisionQueue
from signalbox.controller.feature_control import controllers_changed
from signalbox.controller.leader_writes import learn_of_gone, learn_states
from signalbox.controller.shared_metadata import read_shared, shared_changed
from signalbox.controller.turn import Pending
from signalbox.metadata.feature_levels import LevelRanges
from signalbox.metadata.store.port import MetadataStore


class NewsQueue:
    """The reader of `StoreNews`. `end_term` is told why only a new term is sure to know everything again."""

    def __init__(
        self,
        store: MetadataStore,
        inputs: Inputs,
        queue: DecisionQueue,
        context: Callable[[], ControllerContext | None],
        end_term: Callable[[str], None],
    ) -> None:
        self._store = store
        self._inputs = inputs
        self._queue = queue
        self._context = context
        self._end_term = end_term

    async def brokers_are(self, brokers: Mapping[int, LiveBroker]) -> None:
        """These brokers are registered now. StoreError."""
        context = self._context()
        if context is not None and (learn := await learn_of_gone(self._store, context, brokers)):
            self._queue.add(self.event(learn))
        self._queue.add(self.event(lambda now, inputs: brokers_changed(now, inputs, brokers)))

    def controllers_are(self, controllers: Mapping[int, LevelRanges]) -> None:
        """These dedicated controllers are registered now."""
        self._queue.add(self.event(lambda now, inputs: controllers_changed(now, inputs, controllers)))

    def log_dir_failed(self, broker_id: int) -> None:
        """A broker lost a log directory."""
        self._queue.add(self.event(lambda now, _: ask_for_replicas(now, broker_id)))

    async def isr_changed(self, partitions: Iterable[TopicPartition]) -> None:
        """Leaders have written these partitions' states by themselves. StoreError."""
        if learn := await self.of_states(partitions):
            self._queue.add(learn)

    async def look_at_shared(self) -> None:
        """A broker has stored something by itself, below the gate of the roll-out (SPEC F17). StoreError, BadEntry."""
        if learn := await self.of_shared():
            self._queue.add(learn)

    def damage_changed(self) -> None:
        """A topic was mended. A new term takes it in, as after a failover."""
        self._end_term("damaged topics have changed in the store: the next term reads them")

    def news_failed(self, error: Exception) -> None:
        """Something could not be read."""
        self._end_term(f"news from the store could not be read: {error}")

    async def of_states(self, partitions: Iterable[TopicPartition]) -> Pending | None:
        """What is newer in the store of these partitions' states, if anything is. StoreError."""
        context = self._context()
        learn = None if context is None else await learn_states(self._store, context, partitions)
        return None if learn is None else self.event(learn)

    async def of_shared(self) -> Pending | None:
        """What others have stored of what more than one may write. StoreError, BadEntry."""
        read = await read_shared(self._store, self._context)
        return None if read is None else self.event(lambda now, inputs: shared_changed(now, inputs, read))

    def event(self, follow: Follow) -> Pending:
        """Something that nobody waits for."""
        return Pending(lambda now: follow(now, self._inputs))
