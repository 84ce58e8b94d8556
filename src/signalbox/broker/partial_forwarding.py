"""Requests of which this broker answers a part itself: the rest is forwarded, the answers are merged (KIP-590, F6).

A filter per API says what is refused here: the whole request, by raising (a right on the cluster), or some resources
of many. Where nothing is refused the client's own bytes are forwarded untouched; where nothing is left nobody else
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
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_request_header, decode_response_header
from signalbox.security.authorizer import Authorizer

Filter = Callable[[ApiRequest], Refused | Awaitable[Refused]]
"""The results of what is refused here; KafkaError when the whole request is."""


class Judge(Protocol):
    """The handler of an API that asks for many resources: on the active controller it judges by the same words."""

    def refused(self, request: ApiRequest) -> Refused | Awaitable[Refused]: ...

    def __call__(self, request: ApiRequest) -> Answer: ...


def forwarding_filters(authorizer: Authorizer, judges: Mapping[ApiKey, Judge]) -> dict[int, Filter]:
    """By API key: a right on the cluster, or a judge of each resource."""

    def refuse_whole(request: ApiRequest) -> Refused:
        require_cluster_right(authorizer, request.context, request.header.api_key)
        return {}

    return dict.fromkeys(CLUSTER_RIGHTS, refuse_whole) | {int(key): judge.refused for key, judge in judges.items()}


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
        judge = self._filters.get(request.header.api_key)
        return self._rest(request, {} if judge is None else judge(request))

    async def _rest(self, request: ApiRequest, judged: Refused | Awaitable[Refused]) -> FinalAnswer:
        refused = await judged if inspect.isawaitable(judged) else judged
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
