"""Finds the active controller and its endpoint for requests of brokers.

It is read from the store itself, because the result must not depend on an UpdateMetadata that the controller has yet to
send: `/controller`, then that node's registration (a dedicated controller's if there is one, else the broker's). The
target's registration determines the listener and its security (SPEC C, Resolved).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.client.connection.connection_settings import ConnectionSecurity
from signalbox.client.connection.node import Address, Node
from signalbox.common.endpoint import Endpoint
from signalbox.metadata.entries.controller_claim import decode_claim
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import BrokerRegistration, decode_registration
from signalbox.metadata.layout import CONTROLLER, broker_id_path, controller_id_path
from signalbox.metadata.store.port import Entry, MetadataStore, StoreError

log = logging.getLogger(__name__)
_RETRY_S = 0.2

EndpointOf = Callable[[BrokerRegistration], Endpoint | None]
Secure = Callable[[Endpoint], ConnectionSecurity]


class StoredControllerLookup:
    """Watches `/controller`; `on_change` is called when the result may have changed. `endpoint_of` selects the target's
    endpoint for the requests to send, `secure` returns the security of the connection."""

    def __init__(self, store: MetadataStore, endpoint_of: EndpointOf, secure: Secure) -> None:
        self._store = store
        self._endpoint_of = endpoint_of
        self._secure = secure
        self._node: Node | None = None
        self._changed = asyncio.Event()
        self._cancel_watch: Callable[[], None] | None = None
        self._watched_id: int | None = None  # the node whose registrations are watched: its listeners may change
        self._cancel_registrations: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self.on_change: Callable[[], None] = lambda: None

    def active_controller(self) -> Node | None:
        """Returns the active controller at its privileged endpoint; None while there is none."""
        return self._node

    def start(self) -> None:
        self._cancel_watch = self._store.watch(CONTROLLER, self._changed.set)
        self._changed.set()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def stop(self) -> None:
        if self._cancel_watch is not None:
            self._cancel_watch()
        for cancel in self._cancel_registrations:
            cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                node = await self._read()
            except (StoreError, BadEntry) as error:
                log.warning("Active controller cannot be determined: %s", error)
                await asyncio.sleep(_RETRY_S)
                self._changed.set()
                continue
            if node != self._node:
                self._node = node
                self.on_change()

    async def _read(self) -> Node | None:
        claim = await self._store.read(CONTROLLER)
        if claim is None:
            return None
        controller_id = decode_claim(claim.data)
        self._watch_registrations(controller_id)
        entry = await self._registration(controller_id)
        if entry is None:
            # The node is elected, but its registration is being renewed: retry soon.
            await asyncio.sleep(_RETRY_S)
            self._changed.set()
            return None
        registration = decode_registration(controller_id, entry.data)
        endpoint = self._endpoint_of(registration)
        if endpoint is None:
            return None
        return Node(controller_id, Address(endpoint.host, endpoint.port), security=self._secure(endpoint))

    async def _registration(self, controller_id: int) -> Entry | None:
        """Returns the node's registration; an entry without data does not count."""
        for path in _registration_paths(controller_id):
            entry = await self._store.read(path)
            if entry is not None and entry.data is not None:
                return entry
        return None

    def _watch_registrations(self, controller_id: int) -> None:
        if self._watched_id != controller_id:
            for cancel in self._cancel_registrations:
                cancel()
            self._watched_id = controller_id
            self._cancel_registrations = [
                self._store.watch(path, self._changed.set) for path in _registration_paths(controller_id)
            ]


def _registration_paths(node_id: int) -> tuple[str, str]:
    return controller_id_path(node_id), broker_id_path(node_id)
