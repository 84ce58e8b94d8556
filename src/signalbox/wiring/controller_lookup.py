"""Who the active controller is and where it takes broker-to-broker requests.

Read from the store itself (`/controller`, then that broker's registration), because the answer must not depend on an
UpdateMetadata that the controller has still to send. Which of its listeners it is, and how it is secured, is read from
the target's registration (SPEC C, Resolved).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.client.connection_settings import ConnectionSecurity
from signalbox.client.node import Address, Node
from signalbox.common.endpoint import Endpoint
from signalbox.metadata.controller_claim import decode_claim
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import CONTROLLER, broker_id_path
from signalbox.metadata.registration import BrokerRegistration, decode_registration
from signalbox.metadata.store.port import MetadataStore, StoreError

log = logging.getLogger(__name__)
_RETRY_S = 0.2

EndpointOf = Callable[[BrokerRegistration], Endpoint | None]
Secure = Callable[[Endpoint], ConnectionSecurity]


class StoredControllerLookup:
    """Follows `/controller`; `on_change` is called whenever the answer may be another one. `endpoint_of` finds the
    target's endpoint for what is to be sent, `secure` how to connect to it."""

    def __init__(self, store: MetadataStore, endpoint_of: EndpointOf, secure: Secure) -> None:
        self._store = store
        self._endpoint_of = endpoint_of
        self._secure = secure
        self._node: Node | None = None
        self._changed = asyncio.Event()
        self._cancel_watch: Callable[[], None] | None = None
        self._registration: tuple[int, Callable[[], None]] | None = None  # whose is watched: its listeners may change
        self._following: asyncio.Task[None] | None = None
        self.on_change: Callable[[], None] = lambda: None

    def active_controller(self) -> Node | None:
        """The active controller at its privileged endpoint; None while there is none."""
        return self._node

    def start(self) -> None:
        self._cancel_watch = self._store.watch(CONTROLLER, self._changed.set)
        self._changed.set()
        self._following = asyncio.get_running_loop().create_task(self._follow())

    async def stop(self) -> None:
        if self._cancel_watch is not None:
            self._cancel_watch()
        if self._registration is not None:
            self._registration[1]()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                node = await self._read()
            except (StoreError, BadEntry) as error:
                log.warning("the active controller cannot be looked up: %s", error)
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
        broker_id = decode_claim(claim.data)
        self._watch_registration(broker_id)
        entry = await self._store.read(broker_id_path(broker_id))
        if entry is None or entry.data is None:
            # Elected, yet its registration is being renewed: look again shortly.
            await asyncio.sleep(_RETRY_S)
            self._changed.set()
            return None
        registration = decode_registration(broker_id, entry.data)
        endpoint = self._endpoint_of(registration)
        if endpoint is None:
            return None
        return Node(broker_id, Address(endpoint.host, endpoint.port), security=self._secure(endpoint))

    def _watch_registration(self, broker_id: int) -> None:
        if self._registration is None or self._registration[0] != broker_id:
            if self._registration is not None:
                self._registration[1]()
            self._registration = (broker_id, self._store.watch(broker_id_path(broker_id), self._changed.set))
