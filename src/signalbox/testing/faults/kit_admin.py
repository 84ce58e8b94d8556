"""Requests of the test kit itself to the brokers: on a listener that no fault concerns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from signalbox.common.ids import ZERO_UUID

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient
    from signalbox.testing.switchboard import Switchboard
    from signalbox.testing.switchboard_line import Line

_LOOKUP_MS = 5_000.0


@asynccontextmanager
async def kit_admin(board: Switchboard) -> AsyncIterator[AdminClient]:
    """ValueError if the switchboard does not know where the brokers are."""
    from signalbox.client.admin import AdminClient
    from signalbox.client.client_settings import ClientSettings
    from signalbox.client.cluster_client import ClusterClient

    if not board.kit_bootstrap:
        raise ValueError("the fault is a request to brokers, and the switchboard has no address of theirs")
    async with ClusterClient(ClientSettings.of(board.kit_bootstrap, client_id="signalbox-kit")) as client:
        yield AdminClient(client)


async def note_topic_id(board: Switchboard, topic: str, lines: list[Line]) -> None:
    """Tells lines in front of TLS the id of a topic. They have not read the Metadata from which a client has it, and a
    client that connects again does not ask for it again. Unknown topics, and brokers that do not respond, change
    nothing: ids are read from now on."""
    from signalbox.client.failures import ClientFailure

    unread = [line.rules for line in lines if line.tls is not None and line.rules is not None]
    unread = [rules for rules in unread if topic not in rules.topic_names.values()]
    if not unread or not board.kit_bootstrap:
        return
    with suppress(ClientFailure):
        async with kit_admin(board) as admin:
            topic_id = (await admin.describe_topics([topic], timeout_ms=_LOOKUP_MS))[topic].topic_id
        for rules in unread:
            if topic_id != ZERO_UUID:
                rules.topic_names[topic_id] = topic
