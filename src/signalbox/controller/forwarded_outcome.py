"""A forwarded change is executed once, however often it is retried: its response is stored with it.

Kafka executes a forwarded request again if the response to the first try was lost, and a client that created a topic
gets TOPIC_ALREADY_EXISTS. Here the response is in the same atomic commit as the change, under the id that the
forwarding broker gave the request. The controller that gets the retry finds it and returns the same response.
A stored response is removed when its broker reports that it has arrived, or when it expires.
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from signalbox.common.forwarding_id import ForwardingId
from signalbox.common.limits import MAX_FORWARDED_RESPONSE_BYTES
from signalbox.controller.context import ControllerContext, KeptOutcome
from signalbox.controller.decision import Decision
from signalbox.controller.records import ForwardedOutcomeKept, ForwardedOutcomesDropped
from signalbox.metadata.json_text import decode_json, encode_json
from signalbox.metadata.layout import FORWARDED
from signalbox.metadata.store.port import Entry
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.message import Message

_Key = tuple[int, int, int]
_DROPPED_AT_ONCE = 100
_NAMES = re.compile(r"-".join([r"(0|[1-9][0-9]*)"] * 3))

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A change that came in an Envelope. `expires_ms`: the time after which no broker retries it."""

    forwarding_id: ForwardingId
    api_key: int
    now_ms: int
    expires_ms: int


def decided_once(
    decide: Callable[[ControllerContext], Decision], asked: ForwardedRequest
) -> Callable[[ControllerContext], Decision]:
    """`decide`, or the response of the first time."""

    def decide_once(context: ControllerContext) -> Decision:
        known = context.forwarded.get(asked.forwarding_id.key)
        if known is not None:
            return Decision(response=_response(known.stored))
        decision = decide(context)
        if not decision.records or decision.response is None:
            return decision  # nothing was changed: it can be decided again
        row = API_TABLE[asked.api_key]
        answer = decision.response.encode(row.max_version)
        dropped = tuple(islice(_ended(context.forwarded, asked), _DROPPED_AT_ONCE))
        records = (*decision.records, *((ForwardedOutcomesDropped(dropped),) if dropped else ()))
        if len(answer) <= MAX_FORWARDED_RESPONSE_BYTES:
            outcome = encode_json(
                {
                    "version": 1,
                    "expires": asked.expires_ms,
                    "api_key": asked.api_key,
                    "api_version": row.max_version,
                    "response": base64.b64encode(answer).decode(),
                }
            )
            records = (*records, ForwardedOutcomeKept(asked.forwarding_id.key, KeptOutcome(asked.expires_ms, outcome)))
        return replace(decision, records=records)

    return decide_once


def outcomes_of(tree: Mapping[str, Entry]) -> dict[_Key, KeptOutcome]:
    """The stored responses, in the form of the context."""
    found: dict[_Key, KeptOutcome] = {}
    for path, entry in tree.items():
        if path == FORWARDED or entry.data is None:
            continue
        named = _NAMES.fullmatch(path.removeprefix(f"{FORWARDED}/"))
        if named is None:
            log.error("Stored response of a forwarded request ignored, its name is invalid (path=%s)", path)
            continue
        broker_id, broker_epoch, number = map(int, named.groups())
        found[broker_id, broker_epoch, number] = KeptOutcome(_expires_ms(path, entry.data), entry.data)
    return found


def _expires_ms(path: str, stored: bytes) -> int:
    """0 for a corrupt entry: no retry can get a response from it, so it is removed with the first expired ones."""
    try:
        return int(_said(stored)["expires"])
    except (KeyError, TypeError, ValueError) as error:
        log.error("Corrupt response of a forwarded request ignored (path=%s, error=%r)", path, error)
        return 0


def _ended(outcomes: Mapping[_Key, KeptOutcome], asked: ForwardedRequest) -> Iterator[_Key]:
    """Stored responses that no broker will request again."""
    own = asked.forwarding_id
    for key, outcome in outcomes.items():
        if key[:2] == own.key[:2]:
            if key[2] < own.settled_below:
                yield key
        elif outcome.expires_ms < asked.now_ms:
            yield key


def _response(stored: bytes) -> Message:
    said = _said(stored)
    row = API_TABLE[said["api_key"]]
    response: Message = row.response.decode(base64.b64decode(said["response"]), said["api_version"])
    return response


def _said(stored: bytes) -> dict[str, Any]:
    return decode_json(stored, FORWARDED)
