"""Keeps one node registered: registers again after a lost session, and when the entry was removed or corrupted.

The broker epoch is the creation id of the registration, so every new registration has a larger one. When another
session holds the id, the registrar waits for that session to end (after a quick restart of a broker it is the broker's
own old session) and gives up after `takeover_timeout_s`. A registration that is removed again and again (by a
controller that cannot reach this node and treats it as dead) is created again after a pause, which grows each time:
every new registration costs the whole cluster an election.

Dedicated controllers are registered in the same way at a path of their own. A node with both roles has two registrars,
and only one of them renews the session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import VERSION_WITH_FEATURES, BrokerRegistration, decode_registration
from signalbox.metadata.layout import broker_id_path
from signalbox.metadata.store.port import Create, Entry, KeyExists, MetadataStore, SessionLost, StoreError, Write

log = logging.getLogger(__name__)

_RETRY_S = 0.5
_FIRST_PAUSE_S = 0.1  # before a registration that did not last is created again; doubled each time
_LONGEST_PAUSE_S = 2.0
_LASTED_S = 10.0  # a registration that existed for longer resets the pause

EpochListener = Callable[[int], None]


class BrokerIdTaken(Exception):
    """Another live process is registered under this node id."""


class BrokerRegistrar:
    """Registers a node and keeps it registered. `on_epoch` is called with every new broker epoch, the first included.
    `path_of` maps a node id to the path of its registration."""

    def __init__(
        self,
        store: MetadataStore,
        on_epoch: EpochListener,
        takeover_timeout_s: float = 30.0,
        registration_version: int = VERSION_WITH_FEATURES,
        *,
        path_of: Callable[[int], str] = broker_id_path,
        renews_session: bool = True,
    ) -> None:
        self._store = store
        self._on_epoch = on_epoch
        self._takeover_timeout_s = takeover_timeout_s
        self._version = registration_version
        self._path_of = path_of
        self._renews_session = renews_session
        self._registration: BrokerRegistration | None = None
        self._broker_epoch = -1
        self._continues = -1  # broker epoch of the previous registration of this process
        self._registered_at_s = 0.0
        self._pause_s = 0.0
        self._changed = asyncio.Event()
        self._session_is_lost = False
        self._is_registered = False
        self._cancel_watch: Callable[[], None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        store.on_session_lost(self._session_lost)

    @property
    def broker_epoch(self) -> int:
        """The epoch of the current registration, -1 before the first."""
        return self._broker_epoch

    def missing_reasons(self) -> list[str]:
        """Why the cluster does not have this node: it has no session with the metadata store, or its registration is
        gone. One sentence, or none if it is registered, as far as this process knows."""
        if self._session_is_lost or not self._store.has_session:
            return ["the node has no session with the metadata store"]
        return [] if self._is_registered else ["the node is not registered in the metadata store"]

    async def register(self, registration: BrokerRegistration) -> int:
        """Register the node and keep it registered; returns the broker epoch. Needs a store that had a session.
        BrokerIdTaken."""
        self._registration = registration
        path = self._path_of(registration.broker_id)
        self._cancel_watch = self._store.watch(path, self._changed.set)
        await self._create_in_session(registration)
        self._keeping = asyncio.get_running_loop().create_task(self._keep(path))
        return self._broker_epoch

    async def update(self, registration: BrokerRegistration) -> None:
        """Replace the content of the registration; the broker epoch stays."""
        self._registration = registration
        await self._store.commit([Write(self._path_of(registration.broker_id), self._payload(registration))])

    async def stop(self) -> None:
        """Stop keeping the node registered. The store deletes the registration with the session."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    def _session_lost(self) -> None:
        self._session_is_lost, self._is_registered = True, False
        self._changed.set()

    async def _create_in_session(self, registration: BrokerRegistration) -> None:
        """The session may end while the node starts: on a machine that pauses, for one. A new one takes its place."""
        while True:
            if self._renews_session and not self._store.has_session:
                await self._store.open_session()
            self._session_is_lost = False
            try:
                await self._create(registration)
                return
            except SessionLost as error:
                log.warning("Registration failed and is retried: %s", error)
                if not self._renews_session:
                    await asyncio.sleep(_RETRY_S)

    async def _create(self, registration: BrokerRegistration) -> None:
        path = self._path_of(registration.broker_id)
        deadline = asyncio.get_running_loop().time() + self._takeover_timeout_s
        self._continues = self._broker_epoch
        while True:
            self._changed.clear()
            try:
                # Created empty and then written, as Kafka does: the entry's version is 1 after registration.
                results = await self._store.commit(
                    [Create(path, of_session=True), Write(path, self._payload(registration), 0)]
                )
                break
            except KeyExists:
                left_s = deadline - asyncio.get_running_loop().time()
                if left_s <= 0:
                    raise BrokerIdTaken(
                        f"{path} is registered by another live process: give this node another node.id (broker.id), "
                        "or stop the other"
                    ) from None
                await self._wait_for_change(min(left_s, _RETRY_S))
        self._broker_epoch, self._is_registered = results[0].creation_id, True
        self._registered_at_s = asyncio.get_running_loop().time()
        self._on_epoch(self._broker_epoch)

    async def _keep(self, path: str) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._repair(path)
            except SessionLost:
                self._session_is_lost, self._is_registered = True, False
                if not self._renews_session:
                    await asyncio.sleep(_RETRY_S)
                self._changed.set()
            except (StoreError, BrokerIdTaken) as error:
                log.warning("Registration failed and is retried: %s", error)
                await asyncio.sleep(_RETRY_S)
                self._changed.set()

    async def _repair(self, path: str) -> None:
        assert self._registration is not None
        if self._session_is_lost and self._renews_session:
            await self._store.open_session()
        self._session_is_lost = False
        entry = await self._store.read(path)
        if entry is None or entry.creation_id != self._broker_epoch:
            self._is_registered = False
            await self._pause()
            log.info("Registering %s again", path)
            await self._create(self._registration)
            return
        if (error := self._read_error(entry)) is not None:
            log.error("Registration was overwritten and is written again: %s", error)
            await self._store.commit([Write(path, self._payload(self._registration), entry.version)])
        self._is_registered = not self._session_is_lost  # a call may have failed although the session goes on

    def _payload(self, registration: BrokerRegistration) -> bytes:
        alive_since_before = self._continues >= 0
        return (registration.continued(self._continues) if alive_since_before else registration).encode(self._version)

    def _read_error(self, entry: Entry) -> BadEntry | None:
        """Why the entry cannot be read (another program wrote it), or None. Other nodes cannot reach a node whose
        registration cannot be read."""
        assert self._registration is not None
        try:
            decode_registration(self._registration.broker_id, entry.data)
        except BadEntry as error:
            return error
        return None

    async def _pause(self) -> None:
        """Wait before registering again: not the first time, nor after a registration that lasted `_LASTED_S`."""
        if asyncio.get_running_loop().time() - self._registered_at_s > _LASTED_S:
            self._pause_s = 0.0
            return
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(_LONGEST_PAUSE_S, max(_FIRST_PAUSE_S, 2 * self._pause_s))

    async def _wait_for_change(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
