"""A forwarded change is executed once, however often it is retried: its response is stored with it.

Kafka executes a forwarded request again if the response to the first try was lost, and a client that created a topic
gets TOPIC_ALREADY_EXISTS. Here the response is in the same atomic commit as the change, under the id that the
forwarding broker gave the request. The controller that gets the retry finds it and returns the same response.
A stored response is removed when its broker reports that it has arrived, or when it expires.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from signalbox.common.ids import ForwardingId
from signalbox.common.limits import MAX_FORWARDED_RESPONSE_BYTES
from signalbox.controller.context import ControllerContext, StoredResponse
from signalbox.controller.decision import Decision
from signalbox.controller.records import ForwardedResponsesRemoved, ForwardedResponseStored
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import FORWARDED
from signalbox.metadata.store.port import Entry
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.message import Message

_Key = tuple[int, int, int]
_MAX_REMOVED = 100
_NAMES = re.compile(r"-".join([r"(0|[1-9][0-9]*)"] * 3))


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A change that came in an Envelope. `expires_ms`: the time after which no broker retries it."""

    forwarding_id: ForwardingId
    api_key: int
    now_ms: int
    expires_ms: int


def decided_once(
    decide: Callable[[ControllerContext], Decision], request: ForwardedRequest
) -> Callable[[ControllerContext], Decision]:
    """`decide`, or the response of the first time."""

    def decide_once(context: ControllerContext) -> Decision:
        stored = context.forwarded.get(request.forwarding_id.key)
        if stored is not None:
            return Decision(response=_response(stored.payload))
        decision = decide(context)
        if not decision.records or decision.response is None:
            return decision  # nothing was changed: it can be decided again
        row = API_TABLE[request.api_key]
        response = decision.response.encode(row.max_version)
        settled = tuple(islice(_settled(context.forwarded, request), _MAX_REMOVED))
        records = (*decision.records, *((ForwardedResponsesRemoved(settled),) if settled else ()))
        if len(response) <= MAX_FORWARDED_RESPONSE_BYTES:
            payload = encode_json(
                {
                    "version": 1,
                    "expires": request.expires_ms,
                    "api_key": request.api_key,
                    "api_version": row.max_version,
                    "response": base64.b64encode(response).decode(),
                }
            )
            stored = StoredResponse(request.expires_ms, payload)
            records = (*records, ForwardedResponseStored(request.forwarding_id.key, stored))
        return replace(decision, records=records)

    return decide_once


def stored_responses(tree: Mapping[str, Entry]) -> dict[_Key, StoredResponse]:
    """The stored responses, in the form of the context."""
    responses: dict[_Key, StoredResponse] = {}
    corrupt = CorruptEntries()
    for path, entry in tree.items():
        if path == FORWARDED or entry.data is None:
            continue
        key = corrupt.read(EntryKind.FORWARDED_RESPONSE, path, entry.data, _key, None)
        if key is not None:
            # 0 if it is corrupt: no retry can get a response from it, so it is removed with the first expired ones.
            expires_ms = corrupt.read(EntryKind.FORWARDED_RESPONSE, path, entry.data, _expires_ms, 0)
            responses[key] = StoredResponse(expires_ms, entry.data)
    return responses


def _key(path: str, payload: bytes | None) -> _Key:
    named = _NAMES.fullmatch(path.removeprefix(f"{FORWARDED}/"))
    if named is None:
        raise BadEntry(f"{path} is named after no forwarded request")
    broker_id, broker_epoch, number = map(int, named.groups())
    return broker_id, broker_epoch, number


def _expires_ms(path: str, payload: bytes | None) -> int:
    stored = decode_json(payload, path)
    try:
        return int(stored["expires"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} is no response: {error!r}") from error


def _settled(responses: Mapping[_Key, StoredResponse], request: ForwardedRequest) -> Iterator[_Key]:
    """Stored responses that no broker will request again."""
    own = request.forwarding_id
    for key, response in responses.items():
        if key[:2] == own.key[:2]:
            if key[2] < own.settled_below:
                yield key
        elif response.expires_ms < request.now_ms:
            yield key


def _response(payload: bytes) -> Message:
    stored = _decode(payload)
    row = API_TABLE[stored["api_key"]]
    response: Message = row.response.decode(base64.b64decode(stored["response"]), stored["api_version"])
    return response


def _decode(payload: bytes) -> dict[str, Any]:
    return decode_json(payload, FORWARDED)
