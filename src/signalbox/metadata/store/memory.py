"""The metadata store in memory: the reference for the other adapters, and the store of fast tests.

Participants share one `SharedEntries`; each has its own `MemoryMetadataStore`. Sessions end by `close`, by `abandon`
(like a crash) or by `SharedEntries.expire` (like a missing heartbeat): no session expires by a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from signalbox.common.clock import Clock, SystemClock
from signalbox.metadata.store.port import (
    ROOT,
    Check,
    Create,
    Delete,
    Entry,
    Fence,
    FencedOut,
    KeyExists,
    KeyHasChildren,
    KeyMissing,
    Operation,
    OperationResult,
    ParentOfSession,
    SessionLost,
    StoreFull,
    StoreUnavailable,
    VersionConflict,
    Write,
    parent_of,
    reject_bad_operations,
    size_bytes,
)


@dataclass(slots=True)
class _Draft:
    """A commit before it is applied: it changes copies of the tree's dictionaries."""

    entries: dict[str, Entry]
    children: dict[str, set[str]]
    next_number: dict[str, int]
    creation_id: int
    now_ms: int
    session_id: int
    touched: set[str]

    def expect(self, path: str, version: int | None) -> Entry:
        entry = self.entries.get(path)
        if entry is None:
            raise KeyMissing(path, "no such entry")
        if version is not None and entry.version != version:
            raise VersionConflict(path, f"version is {entry.version}, expected {version}")
        return entry

    def create(self, operation: Create) -> OperationResult:
        parent = parent_of(operation.path)
        owner = self.entries.get(parent)
        if owner is None:
            raise KeyMissing(parent, f"no parent for {operation.path}")
        if owner.session_id:
            raise ParentOfSession(parent, "an entry of a session has no children")
        path = operation.path
        if operation.numbered:
            number = self.next_number.get(parent, 0)
            self.next_number[parent] = number + 1
            path += f"{number:010d}"
        if path in self.entries:
            raise KeyExists(path, "exists already")
        session_id = self.session_id if operation.of_session else 0
        if operation.of_session and not session_id:
            raise SessionLost(f"{path}: an entry of a session needs one")
        self.entries[path] = Entry(operation.data, 0, self.creation_id, self.now_ms, session_id)
        self.children[parent] = self.children.get(parent, set()) | {path}
        self.touched |= {path, parent}
        return OperationResult(path, 0, self.creation_id)

    def write(self, operation: Write) -> OperationResult:
        entry = self.expect(operation.path, operation.expected_version)
        written = replace(entry, data=operation.data, version=entry.version + 1)
        self.entries[operation.path] = written
        self.touched.add(operation.path)
        return OperationResult(operation.path, written.version, written.creation_id)

    def delete(self, path: str, expected_version: int | None) -> OperationResult:
        entry = self.expect(path, expected_version)
        if self.children.get(path):
            raise KeyHasChildren(path, "has children")
        parent = parent_of(path)
        del self.entries[path]
        self.children.pop(path, None)
        self.next_number.pop(path, None)
        self.children[parent] = self.children[parent] - {path}
        self.touched |= {path, parent}
        return OperationResult(path, entry.version, entry.creation_id)

    def apply(self, operation: Operation) -> OperationResult:
        match operation:
            case Create():
                return self.create(operation)
            case Write():
                return self.write(operation)
            case Delete():
                return self.delete(operation.path, operation.expected_version)
            case Check():
                entry = self.expect(operation.path, operation.expected_version)
                return OperationResult(operation.path, entry.version, entry.creation_id)


class SharedEntries:
    """The tree that several `MemoryMetadataStore`s share."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._commit_id = 0
        self._last_session_id = 0
        self.entries: dict[str, Entry] = {ROOT: Entry(None, 0, 0, 0)}
        self.children: dict[str, set[str]] = {}
        self._next_number: dict[str, int] = {}
        self._sessions: dict[int, MemoryMetadataStore] = {}
        self._participants: list[MemoryMetadataStore] = []
        self.free_space_bytes: int | None = None  # a larger commit is rejected: simulates a full disk; None: no limit

    def join(self, participant: MemoryMetadataStore) -> int:
        """Open a session for `participant`; returns its id."""
        self._last_session_id += 1
        self._sessions[self._last_session_id] = participant
        self.add_participant(participant)
        return self._last_session_id

    def add_participant(self, participant: MemoryMetadataStore) -> None:
        """Notify `participant` of changes from now on."""
        if participant not in self._participants:
            self._participants.append(participant)

    def remove_participant(self, participant: MemoryMetadataStore) -> None:
        """Stop notifying `participant`."""
        if participant in self._participants:
            self._participants.remove(participant)

    def holds_session(self, session_id: int) -> bool:
        return session_id in self._sessions

    def expire(self, session_id: int) -> None:
        """End a session as the timeout does: its entries are deleted and its owner is notified."""
        owner = self._sessions.get(session_id)
        self.end_session(session_id)
        if owner is not None:
            owner.session_ended(session_id)

    def end_session(self, session_id: int) -> None:
        """Delete a session with its entries."""
        if self._sessions.pop(session_id, None) is None:
            return
        owned = [path for path, entry in self.entries.items() if entry.session_id == session_id]
        draft = self._draft(0)
        for path in owned:
            draft.delete(path, None)
        self._adopt(draft)

    def commit(self, operations: Sequence[Operation], fence: Fence | None, session_id: int) -> list[OperationResult]:
        """Apply all operations or none, then notify the watchers."""
        if fence is not None:
            entry = self.entries.get(fence.path)
            if entry is None or entry.version != fence.version:
                raise FencedOut(fence.path, f"the fence has left version {fence.version}")
        if not operations:
            return []
        draft = self._draft(session_id)
        results = [draft.apply(operation) for operation in operations]
        if self.free_space_bytes is not None and sum(map(size_bytes, operations)) > self.free_space_bytes:
            raise StoreFull("the memory store is full: make room")
        self._adopt(draft)
        return results

    def _draft(self, session_id: int) -> _Draft:
        return _Draft(
            entries=dict(self.entries),
            children=dict(self.children),
            next_number=dict(self._next_number),
            creation_id=self._commit_id + 1,
            now_ms=self._clock.now_ms(),
            session_id=session_id,
            touched=set(),
        )

    def _adopt(self, draft: _Draft) -> None:
        self.entries, self.children, self._next_number = draft.entries, draft.children, draft.next_number
        self._commit_id = draft.creation_id
        for participant in list(self._participants):
            participant.paths_changed(draft.touched)


class MemoryMetadataStore:
    """One participant's access to a `SharedEntries`. The methods are documented in `MetadataStore`."""

    max_commit_bytes = 64 << 20

    def __init__(self, shared: SharedEntries) -> None:
        self._shared = shared
        self._session_id = 0
        self._lost = False
        self._closed = False
        self._lost_callbacks: list[Callable[[], None]] = []
        self._watches: dict[str, list[Callable[[], None]]] = {}
        self._held: set[str] | None = None

    @property
    def session_id(self) -> int:
        """The open session, 0 without one."""
        return self._session_id

    async def open_session(self) -> int:
        self._reject_when_closed()
        self._shared.end_session(self._session_id)
        self._lost = False
        self._session_id = self._shared.join(self)
        await asyncio.sleep(0)
        return self._session_id

    @property
    def has_session(self) -> bool:
        return self._session_id != 0 and not self._lost and self._shared.holds_session(self._session_id)

    def on_session_lost(self, callback: Callable[[], None]) -> None:
        self._lost_callbacks.append(callback)

    async def read(self, path: str) -> Entry | None:
        self._reject_when_closed()
        await asyncio.sleep(0)
        return self._shared.entries.get(path)

    async def children(self, path: str) -> list[str]:
        self._reject_when_closed()
        await asyncio.sleep(0)
        return sorted(child.rpartition("/")[2] for child in self._shared.children.get(path, ()))

    async def read_tree(self, path: str) -> dict[str, Entry]:
        self._reject_when_closed()
        await asyncio.sleep(0)
        below = path if path == ROOT else path + "/"
        return {
            found: entry
            for found, entry in sorted(self._shared.entries.items())
            if found == path or found.startswith(below)
        }

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
        self._reject_when_closed()
        reject_bad_operations(operations)
        await asyncio.sleep(0)
        if self._lost or (self._session_id and not self._shared.holds_session(self._session_id)):
            raise SessionLost("the session has ended")
        return self._shared.commit(operations, fence, self._session_id)

    def watch(self, path: str, callback: Callable[[], None]) -> Callable[[], None]:
        self._shared.add_participant(self)
        self._watches.setdefault(path, []).append(callback)

        def cancel() -> None:
            callbacks = self._watches.get(path, [])
            if callback in callbacks:
                callbacks.remove(callback)

        return cancel

    async def close(self) -> None:
        self._closed = True
        self._shared.remove_participant(self)
        self._shared.end_session(self._session_id)
        self._session_id = 0
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Stop like a killed process: the session ends, and no callback is called any more."""
        self._closed = True
        self._shared.remove_participant(self)
        self._shared.end_session(self._session_id)

    def pause(self) -> None:
        """Deliver no notifications until `resume`, like a suspended process."""
        self._held = set()

    def resume(self) -> None:
        """Deliver the notifications that were held back."""
        held, self._held = self._held or set(), None
        if self._lost:
            self._tell_lost()
        self.paths_changed(held)

    def session_ended(self, session_id: int) -> None:
        """Called by the shared tree when it ends this participant's session."""
        if session_id == self._session_id:
            self._lost = True
            if self._held is None:
                self._tell_lost()

    def paths_changed(self, paths: set[str]) -> None:
        """Called by the shared tree after a commit."""
        if self._held is not None:
            self._held |= paths
            return
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        for path in paths:
            for callback in self._watches.get(path, ()):
                loop.call_soon(callback)

    def _tell_lost(self) -> None:
        for callback in self._lost_callbacks:
            callback()

    def _reject_when_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
