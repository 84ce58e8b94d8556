"""One connection through a line whose rules look at requests (SPEC R7). Without TLS; SASL passes as it is.

Frames of both directions are cut out of the streams. A response is matched with its request by the correlation id; the
responses of a connection stay in the order of its requests, those that are given in the broker's place too.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, cast

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.error_responses import error_response
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import (
    RequestHeader,
    decode_request_header,
    encode_request_header,
    encode_response_header,
)
from signalbox.security.request_context import RequestContext
from signalbox.testing.switchboard_rewrite import RewritingSession, WireRewrite, framed, frames_of
from signalbox.testing.wire.request_rule import LineRules, RequestRule, RuleAction, SeenRequest
from signalbox.testing.wire.response_edits import (
    Edit,
    FetchedPartitions,
    capped,
    edited,
    throttled,
    topic_in_fetch,
    topic_in_metadata,
)
from signalbox.testing.wire.topic_entries import join, note_ids, split, topics_of

FetchedTopics = dict[tuple[str, bytes], set[int]]

_IDENTITY_FROM = 5
_DECODED = (ApiKey.API_VERSIONS, ApiKey.PRODUCE, ApiKey.FETCH)


@dataclass(slots=True)
class Step:
    """What follows from received bytes: bytes for the target; responses for the caller, each with its extra delay in
    seconds; whether the connection is cut after that."""

    to_target: bytearray = field(default_factory=bytearray)
    to_caller: list[tuple[bytes, float]] = field(default_factory=list)
    cut: bool = False


@dataclass(slots=True)
class _InFlight:
    header: RequestHeader
    rule: RequestRule | None
    rewriting: RewritingSession | None
    edit: Edit | None = None
    response: bytes | None = None


class RuleSession:
    """`rewrite` is asked for at each request, so that a changed one applies to open connections too."""

    def __init__(self, line: str, rules: LineRules) -> None:
        self._line = line
        self._rules = rules
        self._from_caller = bytearray()
        self._from_target = bytearray()
        self._in_flight: deque[_InFlight] = deque()
        self._rewriting: tuple[WireRewrite, RewritingSession] | None = None
        self._silent = False
        self._fetched = FetchedPartitions()

    def requests(self, data: bytes, rewrite: WireRewrite | None) -> Step:
        """Bytes of the caller."""
        step = Step()
        for frame in frames_of(self._from_caller, data):
            self._request(frame, rewrite, step)
            if step.cut:
                break
        self._give_responses(step)
        return step

    def responses(self, data: bytes) -> Step:
        """Bytes of the target."""
        step = Step()
        for frame in frames_of(self._from_target, data):
            correlation_id = int.from_bytes(frame[:4], "big", signed=True)
            request = next((row for row in self._in_flight if row.header.correlation_id == correlation_id), None)
            if request is None:  # a token of SASL without a header
                step.to_caller.append((framed(frame), 0.0))
                continue
            request.response = self._received(frame, request)
        self._give_responses(step)
        return step

    def _received(self, frame: bytes, request: _InFlight) -> bytes:
        """The broker's response as the caller gets it."""
        if request.rewriting is not None:
            frame = request.rewriting.response(frame)
        api, version = ApiKey(request.header.api_key), request.header.api_version
        if api == ApiKey.METADATA:
            edited(frame, api, version, lambda response: note_ids(response, self._rules.topic_names))
        return frame if request.edit is None else edited(frame, api, version, request.edit)

    def _request(self, frame: bytes, rewrite: WireRewrite | None, step: Step) -> None:
        body: Any = None
        try:
            header, offset = decode_request_header(frame)
            api = ApiKey(header.api_key)
            if api in _DECODED or self._rules.reads_topics_of(api):
                body = _body(frame, header, offset)
        except ValueError:
            step.to_target += framed(frame)  # a token of SASL, an API or version that is not in the table
            return
        self._note(api, header, body)
        if not self._rules.lets_through(header):
            step.cut = True  # as brokers do that do not know the version
            return
        fetched = self._fetched.after(body) if api == ApiKey.FETCH else {}
        rule = self._rules.rule_for(header, self._topics(body, fetched))
        request = _InFlight(header, rule, self._rewriting_of(rewrite))
        if api == ApiKey.PRODUCE and body.acks == 0:
            self._without_response(frame, request, step)
            return
        error = rule.error if rule is not None and rule.action is RuleAction.ERROR else None
        if rule is not None and rule.topic is not None and error is not None:
            frame, error = self._error_for_topic(rule, frame, request, body, fetched)
        elif rule is not None and rule.action is RuleAction.THROTTLE:
            request.edit = throttled(rule.throttle_ms)
        if api == ApiKey.API_VERSIONS and error is None:
            frame, error = self._presented(frame, header, body)
            limits = self._rules.versions_for(header)
            request.edit = capped(limits) if limits else request.edit
        if error is not None:
            request.response = _error_frame(frame, header, offset, error)
        if request.response is not None:
            request.rewriting = None
        elif rule is not None and rule.action is RuleAction.CUT_BEFORE:
            step.cut = True
            return
        elif rule is None or rule.action is not RuleAction.DROP:
            step.to_target += framed(frame if request.rewriting is None else request.rewriting.request(frame))
        self._in_flight.append(request)

    def _topics(self, body: Any, fetched: FetchedTopics) -> frozenset[str]:
        """The topics of a request that is decoded, and of its fetch session."""
        names = self._rules.topic_names
        if body is None or not self._rules.reads_topics_of(body.api_key):
            return frozenset()
        if body.api_key == ApiKey.FETCH:
            return frozenset(name or names.get(topic_id, "") for name, topic_id in fetched)
        if body.api_key == ApiKey.METADATA and body.topics is None:
            return frozenset(rule.topic for rule in self._rules.rules if rule.topic is not None)
        return topics_of(body, names)

    def _error_for_topic(
        self, rule: RequestRule, frame: bytes, request: _InFlight, body: Any, fetched: FetchedTopics
    ) -> tuple[bytes, Error | None]:
        """The request that the broker gets, and the error of the whole request if it is about this topic alone.
        Reading requests reach the broker unchanged: fetch sessions stay in step, and Metadata has the brokers."""
        header, names, topic = request.header, self._rules.topic_names, rule.topic or ""
        if header.api_key == ApiKey.METADATA:
            request.edit = topic_in_metadata(topic, rule.error, names)
            return frame, None
        if header.api_key == ApiKey.FETCH:
            request.edit = topic_in_fetch(topic, rule.error, names, fetched)
            return frame, None
        divided = split(body, topic, names)
        if divided is None:
            return frame, rule.error
        others, own = divided
        part = _error_body(own, frame, header, rule.error)
        request.edit = lambda response: join(response, part)
        head = encode_request_header(header.api_key, header.api_version, header.correlation_id, header.client_id)
        return head + others.encode(header.api_version), None

    def _without_response(self, frame: bytes, request: _InFlight, step: Step) -> None:
        """A Produce request with acks=0: whatever would change its response ends the connection."""
        if request.rule is not None and request.rule.action in (RuleAction.ERROR, RuleAction.CUT_BEFORE):
            step.cut = True
        elif request.rule is None or request.rule.action is not RuleAction.DROP:
            step.to_target += framed(frame)
            step.cut = request.rule is not None and request.rule.action is RuleAction.CUT_AFTER

    def _presented(self, frame: bytes, header: RequestHeader, body: Any) -> tuple[bytes, Error | None]:
        """An ApiVersions request as the broker gets it, or the error: the line's identity is compared here, and the
        broker is not asked to compare its own."""
        identity = self._rules.identity
        if identity is None or identity.client_id not in (None, header.client_id):
            return frame, None
        if header.api_version < _IDENTITY_FROM or body.cluster_id is None:
            return frame, None
        if not identity.accepts(body.cluster_id, body.node_id):
            return frame, Error.REBOOTSTRAP_REQUIRED
        body.cluster_id, body.node_id = None, -1
        head = encode_request_header(header.api_key, header.api_version, header.correlation_id, header.client_id)
        return head + body.encode(header.api_version), None

    def _note(self, api: ApiKey, header: RequestHeader, body: Any) -> None:
        cluster_id = node_id = None
        if api == ApiKey.API_VERSIONS and header.api_version >= _IDENTITY_FROM and body.cluster_id is not None:
            cluster_id, node_id = body.cluster_id, body.node_id
        self._rules.log.append(SeenRequest(self._line, api, header.api_version, header.client_id, cluster_id, node_id))

    def _rewriting_of(self, rewrite: WireRewrite | None) -> RewritingSession | None:
        if rewrite is None:
            return None
        if self._rewriting is None or self._rewriting[0] is not rewrite:
            self._rewriting = rewrite, RewritingSession(rewrite)
        return self._rewriting[1]

    def _give_responses(self, step: Step) -> None:
        """Moves the responses that are complete, in the order of the requests, up to the first one that is missing."""
        while self._in_flight and not self._silent:
            request = self._in_flight[0]
            action = request.rule.action if request.rule is not None else None
            if action is RuleAction.DROP:
                self._silent = True
                break
            if request.response is None:
                break
            self._in_flight.popleft()
            if action is RuleAction.CUT_AFTER:
                step.cut = True
                return
            if action is RuleAction.STALL:
                self._silent = True
                break
            delay_ms = request.rule.delay_ms if request.rule is not None else 0.0
            step.to_caller.append((framed(request.response), delay_ms / 1000))


def _body(frame: bytes, header: RequestHeader, offset: int) -> Any:
    """The decoded request; DecodeError for a version that is not in the API table."""
    row = API_TABLE[ApiKey(header.api_key)]
    if not row.min_version <= header.api_version <= row.max_version:
        raise DecodeError(f"{row.name} {header.api_version} is not in the API table")
    return row.request.decode(frame, header.api_version, offset)


def _error_frame(frame: bytes, header: RequestHeader, offset: int, error: Error) -> bytes | None:
    """The response that a broker gives to a request that fails as a whole; None for a version that is not known."""
    try:
        body = _body(frame, header, offset)
    except DecodeError:
        return None
    response = _error_body(body, frame, header, error)
    head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
    return head + bytes(response.encode(header.api_version))


def _error_body(body: Any, frame: bytes, header: RequestHeader, error: Error) -> Any:
    no_context = cast(RequestContext, None)  # errors depend on header and body only
    return error_response(ApiRequest(header, body, no_context, frame, 0.0), error)
