"""Requests of which this broker answers a part itself: the rest is forwarded, the answers are merged (KIP-590, F6).

A filter per API says what is refused here: the whole request, with an error or an answer, or some resources of many.
Where nothing is refused the client's own bytes are forwarded untouched; where nothing is left nobody else
hears of it. The active controller judges again, so a filter that lets something pass gives nobody a right.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from signalbox.broker.api_request import Answer, ApiRequest, CloseConnection, FinalAnswer, RawAnswer
from signalbox.broker.cluster_rights import CLUSTER_RIGHTS, require_cluster_right
from signalbox.broker.in_slices import in_slices
from signalbox.broker.ports import Forwarder, LongLane
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Refused, ResourceRequests
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

    def __init__(self, forwarder: Forwarder, lane: LongLane) -> None:
        self._forwarder = forwarder
        self._lane = lane
        self._filters: Mapping[int, Filter] = {}

    def install(self, filters: Mapping[int, Filter]) -> None:
        """By API key. Handlers that know who may come after the router."""
        self._filters = filters

    def forward(self, request: ApiRequest) -> Awaitable[FinalAnswer]:
        """The whole answer; KafkaError at once when the request is refused whole. What may be long, a look at each
        resource, is done before this returns, where it breathes."""
        return self._settled(request, self._filters[request.header.api_key](request))

    async def _settled(self, request: ApiRequest, judged: Refusal | Awaitable[Refusal]) -> FinalAnswer:
        refused = await judged if inspect.isawaitable(judged) else judged
        if isinstance(refused, Message):
            return refused
        if not refused:
            request.sent_on = True
            return await self._forwarder.forward(request)
        shape = RESOURCE_REQUESTS[request.header.api_key]
        rest = await in_slices(self._lane, partial(_rest, request, shape, refused))
        said = None
        if rest is not None:
            request.sent_on = True
            said = await self._forwarder.forward(rest)
            if isinstance(said, CloseConnection):
                return said
        merged: FinalAnswer = await in_slices(self._lane, partial(_merged, request, shape, refused, said))
        return merged


def _rest(request: ApiRequest, shape: ResourceRequests, refused: Refused) -> ApiRequest | None:
    """The same request with less in it, under the very header that its client sent."""
    body = shape.rest(request.body, refused)
    if body is None:
        return None
    header, offset = decode_request_header(request.frame)
    frame = bytes(request.frame[:offset]) + b"".join(map(bytes, body.encode_long(header.api_version)))
    return ApiRequest(header, body, request.context, frame, request.received_at)


def _merged(request: ApiRequest, shape: ResourceRequests, refused: Refused, said: FinalAnswer | None) -> Any:
    """The whole answer, whoever made `said`."""
    answer: Any = said
    if isinstance(said, RawAnswer):
        header = request.header
        _, offset = decode_response_header(said.payload, header.api_key, header.api_version)
        answer, _ = API_TABLE[header.api_key].response.decode_long(said.payload, header.api_version, offset)
    return shape.merged(request.body, refused, answer)
