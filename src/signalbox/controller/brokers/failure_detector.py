"""Nodes whose connections were closed: each is probed at once, and acted on without waiting for its session to expire.

One probe per node at a time. The action on a dead node is fenced: a broker that lives after all registers again with a
new epoch; a controller that lives after all has lost its controller epoch.

The controller is dead although its session has not expired if all its listeners refuse connections. A store that
notices the end of a process removes the claim at once (SQLite); one that only notices silence keeps it for a session
timeout (ZooKeeper). A broker whose connection to the controller was closed need not wait for that: if every listener of
the controller's own registration refuses connections, no process serves there, and the claim may be replaced. Nothing
is lost if the old controller lives after all: the successor's commit raises the controller epoch, so each of the old
controller's writes is rejected and brokers ignore it. A controller that is only silent (SIGSTOP, a host that is cut
off) does not refuse connections; its claim stays until its session expires.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from signalbox.common.endpoint import Endpoint
from signalbox.common.log_limiter import TransitionLog
from signalbox.controller.context import LiveBroker
from signalbox.controller.ports import BrokerProbe
from signalbox.metadata.entries.controller_claim import decode_claim
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import decode_registration
from signalbox.metadata.layout import CONTROLLER, broker_id_path, controller_id_path
from signalbox.metadata.store.port import Delete, Fence, MetadataStore, StoreError

log = logging.getLogger(__name__)


class FailureDetector:
    """Without a probe no node is ever confirmed dead."""

    def __init__(
        self,
        store: MetadataStore,
        probe: BrokerProbe | None,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._store = store
        self._probe = probe
        self._spawn = spawn
        self._looked_at: set[int] = set()
        self._troubles: dict[int, TransitionLog] = defaultdict(lambda: TransitionLog(log, level=logging.INFO))

    def look_at_broker(self, broker: LiveBroker, fence: Fence, is_known: Callable[[LiveBroker], bool]) -> None:
        """For the active controller: remove the registration of a broker that is dead and still the known one."""
        if self._probe is not None:
            broker_id = broker.registration.broker_id
            self._once(broker_id, partial(self._expel_if_dead, self._probe, broker, fence, is_known))

    def look_at_controller(self, controller_id: int, found_dead: Callable[[int], None]) -> None:
        """For the other nodes: `found_dead` is called with the creation id of a dead controller's claim."""
        if self._probe is not None:
            self._once(controller_id, partial(self._depose_if_dead, self._probe, controller_id, found_dead))

    def _once(self, node_id: int, look: Callable[[], Awaitable[None]]) -> None:
        if node_id not in self._looked_at:
            self._looked_at.add(node_id)
            self._spawn(self._looking(node_id, look))

    async def _looking(self, node_id: int, look: Callable[[], Awaitable[None]]) -> None:
        try:
            await look()
        except (StoreError, BadEntry) as error:
            self._troubles[node_id].failed(f"node {node_id} cannot be checked after its connections closed: {error}")
        else:
            self._troubles.pop(node_id, None)
        finally:
            self._looked_at.discard(node_id)

    async def _expel_if_dead(
        self, probe: BrokerProbe, broker: LiveBroker, fence: Fence, is_known: Callable[[LiveBroker], bool]
    ) -> None:
        broker_id = broker.registration.broker_id
        if not await probe.confirm_dead(broker_id, broker.registration.endpoints) or not is_known(broker):
            return
        # The notification that the broker registered again may not have arrived here yet.
        registered = await self._store.read(broker_id_path(broker_id))
        if registered is not None and registered.creation_id == broker.broker_epoch:
            await self._store.commit([Delete(broker_id_path(broker_id))], fence)
            log.info("broker %d refuses connections: its registration was removed before its session ended", broker_id)

    async def _depose_if_dead(self, probe: BrokerProbe, controller_id: int, found_dead: Callable[[int], None]) -> None:
        claim = await dead_controller_claim(self._store, probe, controller_id)
        if claim is not None:
            log.info("controller %d refuses connections: its claim is replaced before its session ends", controller_id)
            found_dead(claim)


async def dead_controller_claim(store: MetadataStore, probe: BrokerProbe, controller_id: int) -> int | None:
    """The creation id of a dead controller's claim; None if it lives, is not the controller, or its state is unknown.
    StoreError, BadEntry."""
    claim = await store.read(CONTROLLER)
    if claim is None or decode_claim(claim.data) != controller_id:
        return None
    endpoints: list[Endpoint] = []
    for path in (controller_id_path(controller_id), broker_id_path(controller_id)):
        entry = await store.read(path)
        # An entry of another session belongs to another process with this id: its addresses are not those of the
        # controller.
        if entry is not None and entry.data is not None and entry.session_id == claim.session_id:
            endpoints += decode_registration(controller_id, entry.data).endpoints
    return claim.creation_id if endpoints and await probe.confirm_dead(controller_id, endpoints) else None
