"""The metadata store port over a ZooKeeper ensemble.

A participant that only reads and writes permanent entries has a session too (ZooKeeper requires one), but entries of a
session need `open_session`. A `sync` precedes every read, since a follower of the ensemble may lag behind a commit that
another participant has completed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol import serialization as requests
from kazoo.protocol.states import KazooState, ZnodeStat

from signalbox.metadata.store.port import (
    ROOT,
    CommitTooLarge,
    Create,
    Entry,
    Fence,
    Operation,
    OperationResult,
    SessionLost,
    StoreError,
    StoreUnavailable,
    reject_bad_operations,
)
from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess
from signalbox.metadata.store.zookeeper.connect_string import ConnectString
from signalbox.metadata.store.zookeeper.multi import made, multi, operation_results
from signalbox.metadata.store.zookeeper.session import Session
from signalbox.metadata.store.zookeeper.watches import Watches

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_REQUEST_BYTES = 1_048_575  # the default of ZooKeeper's jute.maxbuffer
_READS_AT_ONCE = 256
_ZOOKEEPERS_OWN = "/zookeeper"


class ZooKeeperMetadataStore:
    """One participant's access to the ensemble. The methods are documented in `MetadataStore`."""

    # A quarter below the ensemble's limit: the caller only estimates what paths, chroot and ACLs add on the wire.
    max_commit_bytes = MAX_REQUEST_BYTES * 3 // 4

    def __init__(self, at: ConnectString, access: ZooKeeperAccess | None = None) -> None:
        self._at = at
        self._access = access or ZooKeeperAccess()
        self._session: Session | None = None
        self._starting = asyncio.Lock()
        self._is_open = False  # whether the session was opened by `open_session`
        self._lost = False
        self._disconnected_since_s: float | None = None
        self._closed = False
        self._lost_callbacks: list[Callable[[], None]] = []
        self._watches = Watches()

    @property
    def session_id(self) -> int:
        """The open session, 0 without one."""
        return self._session.session_id if self._session is not None and self._is_open else 0

    async def open_session(self) -> int:
        self._reject_when_closed()
        async with self._starting:
            before, self._session = self._session, None
            self._is_open = self._lost = False
            self._disconnected_since_s = None
            if before is not None:
                self._watches.use(None)
                await before.stop()
            await self._start()
            self._is_open = True
            return self.session_id

    @property
    def has_session(self) -> bool:
        if self._session is None or not self._is_open or self._lost:
            return False
        since = self._disconnected_since_s
        return since is None or asyncio.get_running_loop().time() - since < self._access.session_timeout_ms / 1000

    def on_session_lost(self, callback: Callable[[], None]) -> None:
        self._lost_callbacks.append(callback)

    async def read(self, path: str) -> Entry | None:
        return await self._looked(path, requests.GetData, _entry)

    async def children(self, path: str) -> list[str]:
        names: list[str] | None = await self._looked(path, requests.GetChildren, list)
        return self._shown(path, names or [])

    async def read_tree(self, path: str) -> dict[str, Entry]:
        session = await self._ready()
        found: dict[str, Entry] = {}
        level = [path]
        before: list[Any] = [requests.Sync(self._at.within(path))]
        while level:
            below: list[str] = []
            for start in range(0, len(level), _READS_AT_ONCE):
                paths = level[start : start + _READS_AT_ONCE]
                for each, (entry, names) in zip(
                    paths, await asyncio.gather(*(self._branch(session, path, before) for path in paths)), strict=True
                ):
                    if entry is not None:
                        found[each] = entry
                        below += [_joined(each, name) for name in names]
            level, before = below, []
        return dict(sorted(found.items()))

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
        reject_bad_operations(operations)
        session = await self._ready()
        if not self._is_open and any(isinstance(each, Create) and each.of_session for each in operations):
            raise SessionLost("an entry of a session needs one: open it first")
        if not operations and fence is None:
            await session.ask(requests.Exists(self._at.within(ROOT), None), again=True)
            return []
        request = multi(operations, fence, self._at, self._access.acl)
        size_bytes = len(request.serialize())
        if size_bytes > MAX_REQUEST_BYTES:
            raise CommitTooLarge(f"{len(operations)} operations take {size_bytes} bytes; ZooKeeper takes 1048575")
        path = made(operations)
        stat_of = [requests.Exists(self._at.within(path), None)] if path is not None else []
        # Not retried: after a lost response the caller must find out whether the commit was applied.
        results, *stats = await session.ask_all([request, *stat_of], again=False)
        creation_id = next((stat.czxid for stat in stats if isinstance(stat, ZnodeStat)), -1)
        return operation_results(results, operations, fence, self._at, creation_id)

    def watch(self, path: str, callback: Callable[[], None]) -> Callable[[], None]:
        self._reject_when_closed()
        at = self._at.within(path)
        self._watches.add(at, callback)
        return lambda: self._watches.remove(at, callback)

    async def close(self) -> None:
        self._closed = True
        async with self._starting:
            session, self._session = self._session, None
            self._watches.use(None)
            if session is not None:
                await session.stop()

    async def _ready(self) -> Session:
        """The session, started on first use. SessionLost after its end, until `open_session`."""
        self._reject_when_closed()
        if self._lost:
            raise SessionLost("the session has ended")
        if self._session is None:
            async with self._starting:
                if self._session is None:
                    self._reject_when_closed()
                    await self._start()
        assert self._session is not None
        return self._session

    async def _start(self) -> None:
        session = Session(self._at.hosts, self._access, self._state_changed)
        await session.start()
        try:
            await self._make_chroot(session)
        except BaseException:
            await session.stop()
            raise
        self._session = session
        self._watches.use(session)

    async def _make_chroot(self, session: Session) -> None:
        path = ""
        for name in filter(None, self._at.chroot.split("/")):
            path += "/" + name
            try:
                await session.ask(requests.Create(path, b"", self._access.acl(ROOT), 0), again=True)
            except NodeExistsError:
                continue

    async def _looked(self, path: str, request: Any, read: Callable[..., T]) -> T | None:
        """The result of a read request after a sync; None if the entry does not exist. After a lost connection both
        requests are retried: the next server may lag behind."""
        session, at = await self._ready(), self._at.within(path)
        _, answer = await session.ask_all([requests.Sync(at), request(at, None)], again=True)
        try:
            return read(_checked(path, answer))
        except NoNodeError:
            return None

    async def _branch(self, session: Session, path: str, before: Sequence[Any]) -> tuple[Entry | None, list[str]]:
        """An entry and the names of its children; these are only requested if the entry's stat says that it has any.
        The requests `before` are sent together with the first one."""
        at = self._at.within(path)
        try:
            *_, answer = await session.ask_all([*before, requests.GetData(at, None)], again=True)
            entry = _entry(_checked(path, answer))
            names = await session.ask(requests.GetChildren(at, None), again=True) if answer[1].numChildren else []
        except NoNodeError:
            return None, []
        return entry, self._shown(path, names)

    def _shown(self, path: str, names: list[str]) -> list[str]:
        """Names in order, without ZooKeeper's own entry `/zookeeper`."""
        return sorted(name for name in names if _joined(self._at.within(path), name) != _ZOOKEEPERS_OWN)

    def _state_changed(self, session: Session, state: str) -> None:
        if session is not self._session:
            return
        if state == KazooState.CONNECTED:
            self._disconnected_since_s = None
            self._watches.connected(session)
        elif state == KazooState.SUSPENDED:
            self._disconnected_since_s = asyncio.get_running_loop().time()
            log.warning("Connection to ZooKeeper lost")
        elif not self._lost:
            log.warning("ZooKeeper session expired: no heartbeat reached ZooKeeper within the session timeout")
            self._lost = True
            for callback in list(self._lost_callbacks) if self._is_open else ():
                asyncio.get_running_loop().call_soon(callback)

    def _reject_when_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")


def _checked(path: str, answer: Any) -> Any:
    """The response, unless it is an error: NoNodeError is raised as it is, any other one as a StoreError."""
    if isinstance(answer, NoNodeError):
        raise answer
    if isinstance(answer, BaseException):
        raise StoreError(f"{path}: ZooKeeper answers {type(answer).__name__}") from answer
    return answer


def _entry(answer: tuple[bytes | None, Any]) -> Entry:
    data, stat = answer
    return Entry(data, stat.version, stat.czxid, stat.ctime, stat.ephemeralOwner)


def _joined(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
