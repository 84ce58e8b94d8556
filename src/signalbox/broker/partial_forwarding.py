"""Requests of which this broker answers a part itself: the rest is forwarded, the answers are merged (KIP-590, F6).

Where nothing has to be answered here, the client's own bytes are forwarded untouched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalAnswer, RawAnswer
from signalbox.broker.ports import Forwarder
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.headers import decode_response_header, encode_request_header


@dataclass(frozen=True, slots=True)
class Split:
    """`rest` is the request without what is answered here, None when nothing is left of it. `merged` makes the whole
    answer of the controller's (None: it was not asked)."""

    rest: Any | None
    merged: Callable[[Any], Any]


Splitter = Callable[[ApiRequest], Awaitable[Split | None]]


class PartialForwarder:
    """A forwarder before the forwarder."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._splitters: Mapping[int, Splitter] = {}

    def install(self, splitters: Mapping[int, Splitter]) -> None:
        """By API key. Handlers that know how to split come after the router."""
        self._splitters = splitters

    async def forward(self, request: ApiRequest) -> FinalAnswer:
        """The whole answer."""
        splitter = self._splitters.get(request.header.api_key)
        split = await splitter(request) if splitter is not None else None
        if split is None:
            return await self._forwarder.forward(request)
        if split.rest is None:
            return _message(split.merged(None))
        answer = await self._forwarder.forward(_with_body(request, split.rest))
        header = request.header
        if isinstance(answer, RawAnswer):
            _, offset = decode_response_header(answer.payload, header.api_key, header.api_version)
            inner = API_TABLE[header.api_key].response.decode(answer.payload, header.api_version, offset)
            return _message(split.merged(inner))
        return _message(split.merged(answer)) if hasattr(answer, "encode_chunks") else answer


def _message(answer: Any) -> FinalAnswer:
    made: FinalAnswer = answer
    return made


def _with_body(request: ApiRequest, body: Any) -> ApiRequest:
    """The same request with less in it, framed as its client would have."""
    header = request.header
    frame = encode_request_header(header.api_key, header.api_version, header.correlation_id, header.client_id)
    frame += b"".join(map(bytes, body.encode_chunks(header.api_version)))
    return ApiRequest(header, body, request.context, frame, request.received_at)
