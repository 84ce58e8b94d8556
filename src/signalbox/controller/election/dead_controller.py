"""Whether the controller is dead although its session has not expired: all its listeners refuse connections.

A store that notices the end of a process removes the claim at once (SQLite); one that only notices silence keeps it for
a session timeout (ZooKeeper). A broker whose connection to the controller was closed need not wait for that: if every
listener of the controller's own registration refuses connections, no process serves there, and the claim may be
replaced. Nothing is lost if the old controller lives after all: the successor's commit raises the controller epoch, so
each of the old controller's writes is rejected and brokers ignore it. A controller that is only silent (SIGSTOP, a host
that is cut off) does not refuse connections; its claim stays until its session expires.
"""

from __future__ import annotations

from signalbox.common.endpoint import Endpoint
from signalbox.controller.ports import BrokerProbe
from signalbox.metadata.entries.controller_claim import decode_claim
from signalbox.metadata.entries.registration import decode_registration
from signalbox.metadata.layout import CONTROLLER, broker_id_path, controller_id_path
from signalbox.metadata.store.port import MetadataStore


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
