"""The owner of the active controller: election, one queue, decisions in order, one store commit per event batch.

Only this file of the package uses asyncio. An event batch takes all waiting events, decides them one by one on the
changing context, commits all records at once with the fence, and only then sends requests to brokers and returns
responses. Later events wait for the next batch: under load many decisions share one commit, and a single one does not
wait for others.

An error of the store ends the controller epoch: waiting requests get NOT_CONTROLLER, and the next controller epoch
(here or on another node) begins with a full read of the store. Two errors do not: after a concurrent update by another
node the batch is decided again; if the store is full, it is certain that nothing was changed, and the changes are
rejected or held (`decision_queue.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from signalbox.common.clock import Clock, SystemClock
from signalbox.common.ids import ForwardingId, TopicPartition
from signalbox.common.log_limiter import TransitionLog
from signalbox.common.metrics import NOT_RECORDED, Histogram
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.brokers.broker_restarts import waited_long_enough
from signalbox.controller.brokers.change_log import log_changes
from signalbox.controller.brokers.failure_detector import FailureDetector
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.control_requests.control_answers import follow_ups
from signalbox.controller.control_requests.control_targets import ControlTargets
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.decision_queue import MAX_HELD, DecisionQueue
from signalbox.controller.direct_writes.metadata_change_log import ConcurrentMetadataUpdate
from signalbox.controller.dispatch import DECISIONS, housekeeping
from signalbox.controller.election.claim import Claim, still_holds, try_to_claim
from signalbox.controller.election.failover import take_over
from signalbox.controller.entities.token_control import expire_tokens
from signalbox.controller.error_responses import reject
from signalbox.controller.event_batch import ControllerEvent, EventBatch, complete_event
from signalbox.controller.forwarded_response import ForwardedRequest, decided_once
from signalbox.controller.partitions.log_comparison import by_offline_reason, some_partitions
from signalbox.controller.ports import BrokerChannels, BrokerProbe, Requester
from signalbox.controller.store.loading import load_context
from signalbox.controller.store.store_events import StoreEvents
from signalbox.controller.store.store_watcher import StoreWatcher
from signalbox.metadata import layout
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS
from signalbox.metadata.store.port import FencedOut, MetadataStore, SessionLost, StoreError, StoreFull
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest

log = logging.getLogger(__name__)

_RETRY_S = 0.5  # between two tries to claim while there is no controller, or the store does not respond
_RECHECK_S = 5.0  # the same while there is a controller: the watch reports changes, this covers a lost notification
_A_DAY_S = 86_400.0  # the longest sleep of a periodic task: the event loop's clock cannot hold 2^63 ms ("never")
_NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the controller works with: channels to brokers, this node's metadata cache, its scheduler of cooperative
    tasks, and a probe for dead brokers.
    `updates_own_cache`: no broker runs on this node, so the controller itself keeps the metadata up to date (F15).
    `until_applied` records the milliseconds from the beginning of a decision to a broker's response to the LeaderAndIsr
    that follows from it."""

    channels: BrokerChannels
    cache: MetadataCache
    scheduler: TaskScheduler
    probe: BrokerProbe | None = None
    updates_own_cache: bool = False
    until_applied: Histogram = NOT_RECORDED


class Controller:
    """One per node that may become the controller. `start` joins the election, `stop` leaves it."""

    def __init__(
        self, node_id: int, store: MetadataStore, dependencies: Dependencies, inputs: Inputs, clock: Clock | None = None
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._dependencies = dependencies
        self._inputs = inputs
        self._clock = clock or SystemClock()
        self._targets = ControlTargets(dependencies.channels, inputs.settings.inter_broker_listener)
        self.unclean_elections = 0  # since the start of this node
        self._node_stops = False
        self._claim: Claim | None = None
        self._context: ControllerContext | None = None
        self._controller_id = _NO_CONTROLLER  # the node that the claim in the store names
        self._wake = asyncio.Event()
        later = lambda seconds, call: asyncio.get_running_loop().call_later(seconds, call)  # noqa: E731
        self._queue = DecisionQueue(self._clock, self._wake.set, later)
        self._store_events = StoreEvents(store, inputs, self._queue, lambda: self._context, self._end_epoch)
        self._election_log = TransitionLog(log)
        self._claim_in_doubt = False
        self._end_reason = ""  # the reason why the controller epoch has to end, if it has to
        self._tasks: set[asyncio.Task[None]] = set()
        self._election_task: asyncio.Task[None] | None = None
        self._cancel_watch: Callable[[], None] | None = None
        self._failure_detector = FailureDetector(store, dependencies.probe, self._spawn)
        self._cache_is_current = False  # whether the cache holds the metadata of this controller epoch
        self._initial_epochs: frozenset[int] = frozenset()  # broker epochs when the controller epoch began
        self._awaited: dict[TopicPartition, int] = {}  # elections that wait, with their leader epochs
        self._dead_claim: int | None = None  # creation id of a claim whose owner is confirmed dead

    # For the broker

    @property
    def is_active(self) -> bool:
        """Whether this node is the controller; a dedicated one only after its first event batch is stored."""
        return self._claim is not None and (self._cache_is_current or not self._dependencies.updates_own_cache)

    @property
    def context(self) -> ControllerContext | None:
        """The active controller's context; None if this node is not the controller or has not loaded the store yet."""
        return self._context

    @property
    def queue(self) -> DecisionQueue:
        """The events that wait for a decision, are being stored, or are held until the store has room."""
        return self._queue

    async def start(self) -> None:
        """Join the election. Needs the roots of the layout and an open session."""
        self._store.on_session_lost(partial(self._end_epoch, "the session has ended"))
        self._cancel_watch = self._store.watch(layout.CONTROLLER, self._controller_changed)
        self._election_task = asyncio.get_running_loop().create_task(self._take_part_in_elections())

    def node_stops(self) -> None:
        """This node has begun its controlled shutdown."""
        self._node_stops = True

    async def stop(self) -> None:
        """Leave the election. The claim is removed with the end of the session, which the store closes."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        leaving = [*self._tasks, *([self._election_task] if self._election_task else [])]
        for task in leaving:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)

    async def handle(self, api_key: int, request: Any, context: Requester | None = None) -> Message:
        """The response of one of the controller's APIs; NOT_CONTROLLER if this node is not the controller.

        Only the forwarding id of the request's context is used: the handler has authorized the request."""
        if not self.is_active:
            return reject(api_key, request, Error.NOT_CONTROLLER)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        decide = DECISIONS[ApiKey(api_key)]
        rejected = partial(reject, api_key, request)
        decided: Callable[[ControllerContext], Decision] = lambda now: decide(now, self._inputs, request)  # noqa: E731
        if context is not None and context.forwarding_id is not None:
            decided = decided_once(decided, self._forwarded(api_key, context.forwarding_id))
        self._queue.add(ControllerEvent(decided, future, rejected))
        return await future

    def _forwarded(self, api_key: int, forwarding_id: ForwardingId) -> ForwardedRequest:
        now_ms = self._clock.now_ms()
        return ForwardedRequest(forwarding_id, api_key, now_ms, now_ms + self._inputs.settings.forwarded_response_ms)

    def on_broker_connection_refused(self, broker_id: int, was_connected: bool) -> None:
        """A hint: a broker's address refuses connections. It is confirmed at once, without waiting for its session.

        Ignored for a broker that registered in this controller epoch and was never connected: Kafka's brokers register
        before they listen."""
        known = self._context.brokers.get(broker_id) if self._context else None
        if known is None or self._claim is None or broker_id == self._node_id:
            return
        if was_connected or known.broker_epoch in self._initial_epochs:
            self._failure_detector.look_at_broker(known, self._claim.fence, self._is_current_registration)

    def on_controller_connection_refused(self, node_id: int) -> None:
        """A hint: the controller's channel was closed and cannot be opened again. If it is dead, its claim is replaced
        before its session expires."""
        if not self.is_active and node_id == self._controller_id:
            self._failure_detector.look_at_controller(node_id, self._controller_is_dead)

    # Election

    async def _take_part_in_elections(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._try_one_epoch()
            except StoreError as error:
                self._election_log.failed(f"Node {self._node_id} cannot act as the controller: {error}")
            except Exception:
                log.exception("Controller failed unexpectedly and resigns (node=%d)", self._node_id)
            finally:
                self._resign()
            await self._wait(_RETRY_S if self._controller_id == _NO_CONTROLLER else _RECHECK_S)

    async def _try_one_epoch(self) -> None:
        self._claim_in_doubt, self._end_reason = False, ""
        supported = self._inputs.settings.supported_features
        standing = await try_to_claim(self._store, self._node_id, self._clock.now_ms(), self._dead_claim, supported)
        self._election_log.recovered()
        if standing.claim is None:
            self._controller_id = standing.controller_id
            return
        self._claim = standing.claim
        log.info("Node %d elected as the controller (controller epoch=%d)", self._node_id, self._claim.controller_epoch)
        self._controller_id = self._node_id
        watcher = StoreWatcher(self._store, self._claim.fence, self._store_events, self._spawn)
        periodic_tasks = [self._spawn(task) for task in self._periodic_tasks()]
        try:
            await self._lead(self._claim, watcher)
        finally:
            for task in periodic_tasks:
                task.cancel()
            watcher.close()

    async def _lead(self, claim: Claim, watcher: StoreWatcher) -> None:
        if self._dependencies.updates_own_cache:
            self._dependencies.cache.forget()
        if self._inputs.token_secret is not None:
            await layout.create_roots(self._store, TOKEN_FOLDERS)
        self._context = await load_context(
            self._store, self._node_id, claim.controller_epoch, self._dependencies.scheduler
        )
        self._initial_epochs = frozenset(broker.broker_epoch for broker in self._context.brokers.values())
        self._queue.add_first(ControllerEvent(lambda now: take_over(now, self._inputs)))
        # The watches open after the load, followed by one read: it finds changes in between, nothing older.
        watcher.open(self._context.corrupt_entries)
        watcher.look_at_all()
        while True:
            self._wake.clear()
            if self._end_reason:
                raise SessionLost(self._end_reason)
            if self._claim_in_doubt:
                self._claim_in_doubt = False
                if not await still_holds(self._store, claim):
                    raise FencedOut(layout.CONTROLLER, "another controller took over")
            if self._queue.is_overfull:
                raise StoreError(f"more than {MAX_HELD} events wait until the metadata store has room")
            if self._queue.is_ready:
                await self._run_batch(claim, self._context)
            else:
                await self._wake.wait()

    def _resign(self) -> None:
        if self._claim is not None:
            log.info(
                "Node %d resigned as the controller (controller epoch=%d)", self._node_id, self._claim.controller_epoch
            )
            self._controller_id = _NO_CONTROLLER
        self._claim = self._context = None
        self._cache_is_current = False
        self._awaited = {}
        self._targets.close()
        for event in self._queue.drain():
            event.fail(Error.NOT_CONTROLLER)

    async def _wait(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return

    # One event batch

    async def _run_batch(self, claim: Claim, context: ControllerContext) -> None:
        batch = EventBatch(context)
        began, scheduler = self._clock.monotonic(), self._dependencies.scheduler
        try:
            await batch.run(self._queue.begin(batch), self._store, claim.fence, scheduler)
        except ConcurrentMetadataUpdate:
            self._queue.retry(batch, await self._store_events.shared_metadata_update())
            return
        except StoreFull as full:
            self._queue.store_full(batch, full)
            return
        self._context = batch.context
        self._queue.stored(batch)
        self._targets.follow(batch.context.brokers)
        await scheduler.result_of(partial(self._publish, batch, context, began))
        self._cache_is_current = True
        for event, decision in batch.decided:
            complete_event(event, decision, self._dependencies.cache, self._spawn)

    def _publish(self, batch: EventBatch, before: ControllerContext, began: float) -> None:
        """Send the control requests of a batch that is stored, and log its changes to `before`. Yields."""
        listener = self._inputs.settings.inter_broker_listener
        for broker_id, request in batch.control_batch.requests(batch.context, listener):
            self._send(broker_id, request, began)
        if self._dependencies.updates_own_cache:
            for update in batch.control_batch.local_requests(batch.context):
                self._dependencies.cache.apply_update_metadata(update)
        self._await_members(batch.control_batch.awaited, batch.context)
        decisions = [decision for _, decision in batch.decided]
        self.unclean_elections += log_changes(before, decisions, self._node_stops, self._initial_epochs)

    def _send(self, broker_id: int, request: Message, began: float) -> None:
        if self._targets.reaches(broker_id):
            future = asyncio.ensure_future(self._dependencies.channels.send(broker_id, request))
            future.add_done_callback(partial(self._on_response, broker_id, request, began))

    def _on_response(self, broker_id: int, request: Message, began: float, future: asyncio.Future[Message]) -> None:
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            log.warning(
                "Control request not delivered (broker=%d, request=%s): %s", broker_id, type(request).__name__, error
            )
            return
        if isinstance(request, LeaderAndIsrRequest):
            self._dependencies.until_applied.record((self._clock.monotonic() - began) * 1_000)
        context = self._context
        if context is None or getattr(request, "controller_epoch", -1) != context.controller_epoch:
            return
        for follow in follow_ups(context, broker_id, request, future.result()):
            self._queue.add(self._store_events.event(follow))

    def _await_members(self, awaited: dict[TopicPartition, int], context: ControllerContext) -> None:
        """Limit the time for which elections wait for members of the ISR; it begins when the first one has returned."""
        awaited = {each: epoch for each, epoch in awaited.items() if self._awaited.get(each) != epoch}
        if not awaited:
            return
        self._awaited.update(awaited)
        wait_ms = self._inputs.settings.unclean_shutdown_election_wait_ms
        for reason, partitions in by_offline_reason(context, awaited).items():
            log.warning("Elections of %d partitions wait for at most %d ms (%s): %s", len(partitions), wait_ms,
                        some_partitions(partitions), reason)  # fmt: skip

        def wait_is_over() -> None:
            if self._context is not None and self._context.controller_epoch == context.controller_epoch:
                self._queue.add(self._store_events.event(lambda now, inputs: waited_long_enough(now, inputs, awaited)))
                self._awaited = {each: epoch for each, epoch in self._awaited.items() if each not in awaited}

        asyncio.get_running_loop().call_later(wait_ms / 1000, wait_is_over)

    # The end of a controller epoch, and periodic tasks

    def _controller_changed(self) -> None:
        self._claim_in_doubt = True
        self._wake.set()

    def _end_epoch(self, reason: str) -> None:
        self._end_reason = reason
        self._wake.set()

    def _periodic_tasks(self) -> Iterator[Coroutine[Any, Any, None]]:
        settings = self._inputs.settings
        yield self._repeat(
            settings.first_housekeeping_s, settings.leader_imbalance_check_interval_seconds, housekeeping
        )
        if self._inputs.token_secret is not None:
            check_s = settings.delegation_token_expiry_check_interval_ms / 1000
            yield self._repeat(check_s, check_s, expire_tokens)

    async def _repeat(
        self, first_s: float, every_s: float, decide: Callable[[ControllerContext, Inputs], Decision]
    ) -> None:
        await asyncio.sleep(min(first_s, _A_DAY_S))
        while True:
            self._queue.add(ControllerEvent(lambda now: decide(now, self._inputs)))
            await asyncio.sleep(min(every_s, _A_DAY_S))

    def _is_current_registration(self, broker: LiveBroker) -> bool:
        known = self._context.brokers.get(broker.registration.broker_id) if self._context else None
        return known is not None and known.broker_epoch == broker.broker_epoch

    def _controller_is_dead(self, claim: int) -> None:
        self._dead_claim = claim
        self._wake.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
