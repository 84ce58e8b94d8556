"""The data plane's event loop: a level-triggered epoll set, nested in asyncio and driven in slices.

asyncio watches one file descriptor, the epoll set itself. When it is readable, one *iteration* runs: events are handled
until the budget (about 100 us) is used up, then the callbacks for the end of the iteration run (group appends), then
responses are sent. An iteration with budget left polls once more before it returns. What is left over stays in a ready
list for the next iteration, which begins at once unless something waits in asyncio (`NodeEventLoop.has_work`): then
asyncio runs first, and the callbacks that follow from each other run one after the other, without an iteration between
two of them, until they have had as much time as the last iterations (decision 0044). So the control plane never waits
longer than a slice, and once only for a chain of callbacks (KIP-291; figures in docs).

Events of connections of the classes HEAVY and REPLICATION wait in the `FairScheduler`, which says which one is next,
and whether light events come first. One handled event is the smallest slice, unless it runs as a cooperative task
(`run_in_slices`): other connections are handled between its slices.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.limits import SHARED_RECEIVE_BUFFER_BYTES
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.fair_scheduler import FairMember, FairScheduler, TrafficClass, Work
from signalbox.transport.node_event_loop import NodeEventLoop
from signalbox.transport.page_cache import PageCache
from signalbox.transport.time_slice import TimeSlice
from signalbox.transport.tls.tls_session import HandshakeThreads

log = logging.getLogger("signalbox.transport")

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
HANGUP = select.EPOLLHUP | select.EPOLLERR
_MAX_EVENTS = 256
_HEAVY_BUDGETS = 3  # for works of HEAVY and REPLICATION between two polls: a poll costs a tenth of a work, or more
_SLICES_AT_ONCE = 2  # of a task: each costs a poll of the sets and a round of asyncio
_FEW_EVENTS = 3  # of one poll: heavy ones among them are handled at once if no works wait, which costs half
_MAX_REPORTED = 32  # of members that wait; the sockets of others are not watched meanwhile
_MAX_ASYNCIO_SLICES = 5  # between two iterations, however long the last ones took: light connections wait for it
_STAGING_BYTES = 262_144  # several small file slices and the bytes between them


class LoopMember(Protocol):
    """A socket in the set. `fair`: its works in the scheduler."""

    fair: FairMember

    def on_events(self, events: int) -> None:
        """The socket is ready. Must not raise: a member handles its own errors."""
        ...


@dataclass(slots=True, eq=False)
class _Registered:
    """`events`: what the set reported, until it is the member's turn."""

    fd: int
    member: LoopMember
    interest: int
    traffic_class: TrafficClass
    events: int = 0


class UnsentOutput(Protocol):
    def flush(self) -> None:
        """Send what is queued. Must not raise."""
        ...


class DataLoop:
    """One epoll set in one asyncio loop; `threads` are closed with it. `time_slice` ends between two iterations while
    works of HEAVY and REPLICATION wait. `now` is the monotonic time at which the running iteration began."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        budget_us: int = 100,
        threads: HandshakeThreads | None = None,
        time_slice: TimeSlice | None = None,
    ) -> None:
        self._loop = loop
        self._time_slice = time_slice
        self.threads = threads or HandshakeThreads()
        self._budget = budget_us / 1_000_000
        self._epoll = select.epoll()
        self._asyncio_has_work = loop.has_work if isinstance(loop, NodeEventLoop) else lambda _: True
        self._asyncio_has_callbacks = loop.has_callbacks if isinstance(loop, NodeEventLoop) else lambda: False
        self._asyncio_until = 0.0
        # Readable for ever, and watched while there is work that no socket tells: asyncio then calls `_readable`.
        self._left_over = os.eventfd(1, os.EFD_CLOEXEC)
        self._watches_left_over = False
        self._epoll.register(self._left_over, 0)
        self._members: dict[int, Callable[[int], None]] = {}
        self._registered: dict[int, _Registered] = {}
        self._fair = FairScheduler()
        self._unwatched: dict[FairMember, _Registered] = {}  # members that wait
        self._ready: list[tuple[int, int]] = []
        self._few_events = False
        self._runnable: list[Callable[[], None]] = []
        self._end_callbacks: list[Callable[[], None]] = []
        self._dirty: list[UnsentOutput] = []
        self._in_iteration = False
        self._events_first = False
        self._overdue_at = 0.0
        self.pool = BufferPool()
        self.page_cache = PageCache(loop)
        self.receive_view = memoryview(bytearray(SHARED_RECEIVE_BUFFER_BYTES))
        self.staging = memoryview(bytearray(_STAGING_BYTES))
        self.now = time.monotonic()
        self.iterations = 0
        self.busy_seconds = 0.0
        self.longest_iteration_seconds = 0.0
        self.queue_seconds = 0.0
        loop.add_reader(self._epoll.fileno(), self._readable)

    @property
    def asyncio_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    @property
    def unsent(self) -> int:
        """Connections with responses that wait for the end of the iteration."""
        return len(self._dirty)

    @property
    def queued(self) -> int:
        """Connections that are ready but not handled yet."""
        return len(self._ready) + len(self._runnable) + len(self._fair)

    def register(
        self,
        sock: socket.socket,
        member: LoopMember,
        interest: int = READ,
        traffic_class: TrafficClass = TrafficClass.LIGHT,
    ) -> None:
        """Add `sock`; `member.on_events` is called while it is ready for `interest`."""
        fd = sock.fileno()
        self._epoll.register(fd, interest)
        self._registered[fd] = registered = _Registered(fd, member, interest, traffic_class)
        self._set_callback(registered)

    def modify(self, sock: socket.socket, interest: int) -> None:
        """Raises FileNotFoundError if `sock` is not in the set."""
        fd = sock.fileno()
        registered = self._registered.get(fd)
        if registered is None:
            raise FileNotFoundError(f"file descriptor {fd} is not in the set")
        registered.interest = interest
        if registered.member.fair not in self._unwatched:
            self._epoll.modify(fd, interest)

    def unregister(self, sock: socket.socket) -> None:
        """Remove `sock` from the set, before it is closed. Works of its member still run."""
        fd = sock.fileno()
        registered = self._registered.pop(fd, None)
        if registered is not None:
            self._unwatched.pop(registered.member.fair, None)
            del self._members[fd]
            self._epoll.unregister(fd)

    def reclassify(self, sock: socket.socket, traffic_class: TrafficClass) -> None:
        """The member belongs to `traffic_class` from now on; works that it has queued run first."""
        registered = self._registered.get(sock.fileno())
        if registered is not None:
            registered.traffic_class = traffic_class
            self._set_callback(registered)

    def _set_callback(self, registered: _Registered) -> None:
        """Light events are handled when they are found; others, also of a light member that has queued works, wait."""
        if registered.traffic_class is TrafficClass.LIGHT and not registered.member.fair.has_works:
            self._members[registered.fd] = registered.member.on_events
        else:
            work = partial(self._handle_fair_event, registered)
            self._members[registered.fd] = partial(self._on_fair_events, registered, work)

    def run_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` within the budget of this iteration or the next: for work without a socket event."""
        self._runnable.append(callback)
        self._schedule_iteration()

    def run_as_member(self, member: LoopMember, traffic_class: TrafficClass, callback: Callable[[], None]) -> None:
        """As `run_soon` for a LIGHT `member` without queued works; else run `callback` when it is its turn, behind
        those works."""
        if traffic_class is TrafficClass.LIGHT and not member.fair.has_works:
            self.run_soon(callback)
        else:
            self._fair.add(member.fair, traffic_class, partial(_once, callback))
            self._schedule_iteration()

    def run_in_slices(self, member: LoopMember, traffic_class: TrafficClass, work: Callable[[], None]) -> None:
        """Run `work`, which may call yield_if_due (`common/cooperative_task.py`), when `member` is next.
        While it has yielded, everything else may run, but no other work and no event of `member`, which must not be
        LIGHT."""
        self._fair.add(member.fair, traffic_class, partial(self._run_slice, CooperativeTask(work)))
        self._schedule_iteration()

    def at_iteration_end(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, after the events of the running (or the next) iteration, before responses are sent."""
        self._end_callbacks.append(callback)
        self._schedule_iteration()

    def flush_soon(self, member: UnsentOutput) -> None:
        """`member` has something to send: it is flushed once, at the end of the iteration."""
        self._dirty.append(member)
        if not self._in_iteration:
            self._schedule_iteration()

    def overdue(self) -> bool:
        """Whether the connection that is being handled has used its share of this iteration: the rest of its work
        goes into `run_soon`."""
        return time.monotonic() >= self._overdue_at

    def close(self) -> None:
        """Stop the loop. Members close their own sockets."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        os.close(self._left_over)
        self.page_cache.close()
        self.threads.close()

    @property
    def closed(self) -> bool:
        return self._epoll.closed

    def _schedule_iteration(self) -> None:
        if not self._in_iteration:
            self._watch_left_over(True)

    def _watch_left_over(self, watched: bool) -> None:
        if watched is not self._watches_left_over and not self._epoll.closed:
            self._watches_left_over = watched
            self._epoll.modify(self._left_over, READ if watched else 0)

    def _readable(self) -> None:
        """Iterations until nothing is left, or until something waits in asyncio; none while callbacks of asyncio wait
        that have not had their share of the time. The set stays readable, so asyncio calls again in its next round."""
        began = time.monotonic()
        if began < self._asyncio_until and self._asyncio_has_callbacks():
            return
        self._watch_left_over(False)
        self._in_iteration = True
        try:
            while self._iterate() and not self._asyncio_has_work(self._epoll.fileno()):
                if self._time_slice is not None and self._fair.waiting:
                    self._time_slice.end_if_due()
        finally:
            self._in_iteration = False
            ended = time.monotonic()
            share = max(self._budget, ended - began)
            self._asyncio_until = ended + min(share, _MAX_ASYNCIO_SLICES * self._budget)
            if self._runnable or self._dirty or self._end_callbacks or self._fair.waiting:
                self._watch_left_over(True)

    def _iterate(self) -> bool:
        """One slice; False if nothing is left to do."""
        clock = time.monotonic
        started = self.now = clock()
        deadline = started + self._budget
        self._overdue_at = deadline + self._budget
        # Events that arrive within the budget are handled now.
        while True:
            handled = self._handle_next(clock, deadline)
            if self._end_callbacks:
                self._run_end_callbacks()
            if self._dirty:
                self._flush(clock, self._overdue_at)
            ended = clock()
            if not handled or ended >= deadline:
                break
        self.iterations += 1
        elapsed = ended - started
        self.busy_seconds += elapsed
        # The queue length integrated over time is the total waiting time of all requests.
        self.queue_seconds += elapsed * (len(self._ready) + len(self._fair))
        if elapsed > self.longest_iteration_seconds:
            self.longest_iteration_seconds = elapsed
        return handled or bool(self._dirty)

    def _handle_next(self, clock: Callable[[], float], deadline: float) -> bool:
        """Handle light events if it is their turn, then works of the other classes while time is left; False if there
        was nothing to do."""
        fair = self._fair
        handled = False
        if not fair.waiting:
            handled = self._handle_events(clock, deadline)
        elif fair.light_is_next():
            began = clock()
            handled = self._handle_events(clock, deadline)
            fair.charge_light(clock() - began)
        now = clock()
        deadline += (_HEAVY_BUDGETS - 1) * self._budget
        while fair.waiting and not (handled and now >= deadline):
            self._overdue_at = now + 2 * self._budget
            now = fair.run_next(clock, now)
            if self._unwatched and fair.ended is not None:
                self._watch_again(fair.ended)
            handled = True
        return handled

    def _watch_again(self, member: FairMember) -> None:
        """The works of `member` are done."""
        registered = self._unwatched.pop(member, None)
        if registered is not None:
            self._epoll.modify(registered.fd, registered.interest)

    def _on_fair_events(self, registered: _Registered, work: Work, events: int) -> None:
        """A socket of a fair class is ready: `work` waits until it is next. It is reported again while it waits; if
        many do, that would cost more than their works."""
        fair = self._fair
        member = registered.member
        if member.fair.has_works:
            if len(fair) > _MAX_REPORTED and member.fair not in self._unwatched:
                self._unwatched[member.fair] = registered
                self._epoll.modify(registered.fd, 0)
        elif registered.traffic_class is TrafficClass.LIGHT:  # its queued works are done
            self._members[registered.fd] = member.on_events
            member.on_events(events)
        elif self._few_events and not fair.waiting:
            member.on_events(events)
        else:
            registered.events = events
            fair.add(member.fair, registered.traffic_class, work)

    def _handle_fair_event(self, registered: _Registered) -> bool:
        if self._registered.get(registered.fd) is registered:
            registered.member.on_events(registered.events)
        return False

    def _run_slice(self, task: CooperativeTask) -> bool:
        task.run_slice(_SLICES_AT_ONCE * self._budget)
        return not task.dead

    def _run_end_callbacks(self) -> None:
        while self._end_callbacks:
            callbacks, self._end_callbacks = self._end_callbacks, []
            for callback in callbacks:
                try:
                    callback()
                except Exception:
                    log.exception("Unexpected error at the end of an iteration of the data plane")

    def _handle_events(self, clock: Callable[[], float], deadline: float) -> bool:
        """Handle what is ready; False if nothing was. Events come first in every second iteration, however many
        callbacks wait: the left-over work of one connection cannot delay the others."""
        if self._runnable and not self._events_first:
            runnable, self._runnable, done = self._runnable, [], 0
            try:
                for callback in runnable:
                    done += 1
                    callback()
                    if clock() >= deadline:
                        self._events_first = True
                        return True
            finally:  # also after an error of one member: the others have work to do
                self._runnable[:0] = runnable[done:]
        self._events_first = False
        ready = self._ready or self._epoll.poll(0, _MAX_EVENTS)
        if not ready:
            return bool(self._runnable)
        if ready is not self._ready:
            self._few_events = len(ready) <= _FEW_EVENTS
        members, done = self._members, 0
        try:
            for fd, events in ready:
                done += 1
                on_events = members.get(fd)
                if on_events is not None:
                    on_events(events)
                if clock() >= deadline:
                    break
        finally:
            # A left-over event may be stale by then: members must accept that the socket is not ready.
            self._ready = ready[done:]
        return True

    def _flush(self, clock: Callable[[], float], deadline: float) -> None:
        dirty, self._dirty, done = self._dirty, [], 0
        try:
            for member in dirty:
                done += 1
                member.flush()
                if clock() >= deadline:
                    break
        finally:
            self._dirty[:0] = dirty[done:]


def _once(callback: Callable[[], None]) -> bool:
    callback()
    return False
