"""Which nodes coordinate groups and transactions, as one node says: FindCoordinator.

It is asked only where its internal topic exists, because asking would create it. A coordinator that Metadata lacks may
have been restarted in between: after a pause both are asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace

from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Address
from signalbox.client.failures import VersionUnsupported
from signalbox.doctor.observations import EndpointObservation, LeftOut
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.clean_text import clean_name

_DOCTORS_OWN = "signalbox-doctor"
_SINGLE_KEY_MAX = 3
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorKeys:
    """The groups and transactional ids whose coordinators are asked for by name."""

    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    """`text` is what reports call it, "" for the doctor's own key, whose errors are no finding."""

    key: str
    key_type: int
    text: str = ""


async def read_coordinators(
    connection: ClientConnection, asked: int, internal_topics: Collection[str], keys: CoordinatorKeys
) -> tuple[list[EndpointObservation], list[LeftOut]]:
    """(what this node, whose id is `asked`, says about coordinators; questions that could not be asked). An answer is
    missing only where a name was given: without one there is nothing to compare."""
    questions: list[_Question] = []
    skipped: list[LeftOut] = []
    for topic, key_type, word, names in (
        ("__consumer_offsets", 0, "group", keys.groups),
        ("__transaction_state", 1, "transactional id", keys.transactional_ids),
    ):
        if topic not in internal_topics:
            skipped.append(LeftOut(f"FindCoordinator: the topic {topic} does not exist", unknown=bool(names)))
            continue
        questions.append(_Question(_DOCTORS_OWN, key_type))
        questions += [_Question(name, key_type, f"{word} {clean_name(name, 260)}") for name in names]
    try:
        rows = [(question, await _ask(connection, asked, question)) for question in questions]
        return await _marked(connection, asked, rows), skipped
    except VersionUnsupported:
        named = any(question.text for question in questions)
        return [], [*skipped, LeftOut("FindCoordinator: the brokers do not have it", unknown=named)]


async def _marked(
    connection: ClientConnection, asked: int, rows: list[tuple[_Question, EndpointObservation]]
) -> list[EndpointObservation]:
    """The responses, with those marked whose node is not in Metadata."""
    if not {row.node_id for _, row in rows if not row.error} - await _nodes(connection):
        return [row for question, row in rows if question.text or not row.error]
    await asyncio.sleep(_PAUSE_S)
    again = [(question, await _ask(connection, asked, question)) for question, _ in rows]
    nodes = await _nodes(connection)
    return [
        replace(row, absent=not row.error and row.node_id not in nodes)
        for question, row in again
        if question.text or not row.error
    ]


async def _nodes(connection: ClientConnection) -> set[int]:
    response = await connection.request(MetadataRequest(topics=[], allow_auto_topic_creation=False))
    return {row.node_id for row in response.brokers}


async def _ask(connection: ClientConnection, asked: int, question: _Question) -> EndpointObservation:
    request = FindCoordinatorRequest(key=question.key, key_type=question.key_type)
    response = await connection.request(request, max_version=_SINGLE_KEY_MAX)
    found = EndpointObservation(source="FindCoordinator", asked=asked, node_id=-1, address="", key=question.text)
    error = Error.of(response.error_code)
    if error != Error.NONE:
        return replace(found, error=error.name)
    address = str(Address(clean_name(response.host, 255), response.port))
    return replace(found, node_id=response.node_id, address=address)
