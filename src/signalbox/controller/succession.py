"""Whether the controller is dead although its session lasts: its addresses say so by refusing.

A store that sees a process die frees the controllership at once (SQLite); one that only hears silence keeps it for a
session timeout (ZooKeeper). A broker whose connection to the controller was closed need not wait for that: when every
listener of the controller's own registration refuses connections, nobody serves there, and the claim may be replaced.
Nothing is lost if the old controller lives after all: the successor's commit raises the controller epoch, so that each
of its writes is refused and brokers ignore it. A controller that is only silent (SIGSTOP, a host that is cut off)
refuses nobody and is left to its session.
"""

from __future__ import annotations

from signalbox.common.endpoint import Endpoint
from signalbox.controller.ports import BrokerProbe
from signalbox.metadata.controller_claim import decode_claim
from signalbox.metadata.layout import CONTROLLER, broker_id_path, controller_id_path
from signalbox.metadata.registration import decode_registration
from signalbox.metadata.store.port import MetadataStore


async def claim_of_the_dead(store: MetadataStore, probe: BrokerProbe, controller_id: int) -> int | None:
    """The creation id of a dead controller's claim; None when it lives, is not the controller, or cannot be told.
    StoreError, BadEntry."""
    claim = await store.read(CONTROLLER)
    if claim is None or decode_claim(claim.data) != controller_id:
        return None
    endpoints: list[Endpoint] = []
    for path in (controller_id_path(controller_id), broker_id_path(controller_id)):
        entry = await store.read(path)
        # Of another session is another process of this id: its addresses say nothing about the one that is the
        # controller.
        if entry is not None and entry.data is not None and entry.session_id == claim.session_id:
            endpoints += decode_registration(controller_id, entry.data).endpoints
    return claim.creation_id if endpoints and await probe.confirm_dead(controller_id, endpoints) else None
