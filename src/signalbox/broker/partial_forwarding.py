"""Requests of which this broker answers a part itself: the rest is forwarded, the answers are merged (KIP-590, F6).

A filter per API says what is refused here: the whole request, with an error or an answer, or some resources of many.
Where nothing is refused the client's own bytes are forwarded untouched; where nothing is left nobody else
hears of it. The active controller judges again, so a filter that lets something pass gives nobody a right.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from signalbox.broker.api_request import Answer, ApiRequest, CloseConnection, FinalAnswer, RawAnswer
from signalbox.broker.cluster_rights import CLUSTER_RIGHTS, require_cluster_right
from signalbox.broker.ports import Forwarder
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Refused
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_request_header, decode_response_header
from signalbox.protocol.message import Message
from signalbox.security.authorizer import Authorizer

Refusal = Refused | Message
Filter = Callable[[ApiRequest], Refusal | Awaitable[Refusal]]
"""The results of what is refused here. The whole request is refused by an answer of its own or, in the API's error
shape, by a KafkaError."""


class Judge(Protocol):
    """The handler of an API with a filter of its own: on the active controller it judges by the same words."""

    def refused(self, request: ApiRequest) -> Refusal | Awaitable[Refusal]: ...

    def __call__(self, request: ApiRequest) -> Answer: ...


def forwarding_filters(authorizer: Authorizer, judges: Mapping[ApiKey, Judge]) -> dict[int, Filter]:
    """By API key: a right on the cluster, or a handler that judges. ValueError: nobody looks at an API."""

    def refuse_whole(request: ApiRequest) -> Refusal:
        require_cluster_right(authorizer, request.context, request.header.api_key)
        return {}

    filters: dict[int, Filter] = dict.fromkeys(CLUSTER_RIGHTS, refuse_whole)
    filters |= {int(key): judge.refused for key, judge in judges.items()}
    routed = [row.api_key for row in ROUTES if row.disposition is Disposition.CONTROLLER]
    unseen = [key.name for key in routed if key not in filters]
    if unseen:
        raise ValueError(f"forwarded without a look at who may: {', '.join(unseen)}")
    return filters


class PartialForwarder:
    """A forwarder before the forwarder."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._filters: Mapping[int, Filter] = {}

    def install(self, filters: Mapping[int, Filter]) -> None:
        """By API key. Handlers that know who may come after the router."""
        self._filters = filters

    def forward(self, request: ApiRequest) -> Awaitable[FinalAnswer]:
        """The whole answer; KafkaError at once when the request is refused whole. What may be long, a look at each
        resource, is done before this returns, where it breathes."""
        return self._rest(request, self._filters[request.header.api_key](request))

    async def _rest(self, request: ApiRequest, judged: Refusal | Awaitable[Refusal]) -> FinalAnswer:
        refused = await judged if inspect.isawaitable(judged) else judged
        if isinstance(refused, Message):
            return refused
        if not refused:
            request.sent_on = True
            return await self._forwarder.forward(request)
        shape = RESOURCE_REQUESTS[request.header.api_key]
        rest = shape.rest(request.body, refused)
        answer = None
        if rest is not None:
            request.sent_on = True
            said = await self._forwarder.forward(_with_body(request, rest))
            if isinstance(said, CloseConnection):
                return said
            answer = _read(request, said)
        merged: FinalAnswer = shape.merged(request.body, refused, answer)
        return merged


def _read(request: ApiRequest, answer: FinalAnswer) -> Any:
    """The answer as a message, whoever made it."""
    if not isinstance(answer, RawAnswer):
        return answer
    header = request.header
    _, offset = decode_response_header(answer.payload, header.api_key, header.api_version)
    return API_TABLE[header.api_key].response.decode(answer.payload, header.api_version, offset)


def _with_body(request: ApiRequest, body: Any) -> ApiRequest:
    """The same request with less in it, under the very header that its client sent."""
    header, offset = decode_request_header(request.frame)
    frame = bytes(request.frame[:offset]) + b"".join(map(bytes, body.encode_chunks(header.api_version)))
    return ApiRequest(header, body, request.context, frame, request.received_at)
