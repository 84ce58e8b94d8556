"""Missing topics are created through the active controller, internal ones too (F10, F11).

For Metadata, the Envelope contains the client's principal, and the creation is authorized with it. On the active
controller the handler of CreateTopics does the same: it authorizes, and charges the client's controller mutation quota.
For FindCoordinator, the broker creates an internal topic as itself, in an Envelope without a principal, since a
dedicated controller accepts creations in no other way (F15). The topics of one Metadata request are created by one
CreateTopics, as in Kafka, so that the limits on one request apply. Requests for a topic that is already being created
wait for the creation in flight, and try again if it failed for reasons of the other request. The result is the
controller's, so that a rejection by a policy or by replica placement reaches the client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from signalbox.broker.api_request import ApiRequest, Handler, settled
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import reject_too_many
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.log_limiter import CLIENT_CAUSED, LogLimiter
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError, StringTooLong
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.security.principal import PrincipalSerde
from signalbox.security.request_context import RequestContext

log = logging.getLogger(__name__)

Results = dict[str, tuple[int, str]]
"""(error code, message) by topic name. The code is 0 for a topic that exists."""

# A request that joined a creation which failed with one of these sends its own: the reason may be the quota, the rights
# or the number of topics of the other request.
_CAUSED_BY_REQUEST = frozenset(
    (Error.THROTTLING_QUOTA_EXCEEDED, Error.TOPIC_AUTHORIZATION_FAILED, Error.POLICY_VIOLATION)
)
_VERSION = API_TABLE[ApiKey.CREATE_TOPICS].max_version


@dataclass(frozen=True, slots=True)
class InternalTopicSettings:
    """Properties of an auto-created topic: partitions, replicas (-1 = the broker default) and configs."""

    partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str] = field(default_factory=dict)


_BROKER_DEFAULTS = InternalTopicSettings()


@dataclass(frozen=True, slots=True)
class TopicCreationSettings:
    """Properties by topic name (other topics have the broker's defaults), and the timeout for the controller."""

    internal_topics: dict[str, InternalTopicSettings]
    request_timeout_ms: int


class TopicCreator:
    """Creates topics on behalf of Metadata and FindCoordinator."""

    def __init__(
        self,
        controller: ActiveController,
        envelopes: ControllerChannel,
        serde: PrincipalSerde,
        broker_context: RequestContext,
        settings: TopicCreationSettings,
    ) -> None:
        self._controller = controller
        self._serde = serde
        self._envelopes = envelopes
        self._broker_context = broker_context
        self._internal_topics = settings.internal_topics
        self._request_timeout_ms = settings.request_timeout_ms
        self._limiter = LogLimiter()
        self._in_flight: dict[str, asyncio.Task[Results]] = {}
        self._handler: Handler | None = None

    def install(self, handler: Handler) -> None:
        """Set the handler of CreateTopics for clients' creations on the active controller. It is set after
        construction, since it needs the quotas of the router."""
        self._handler = handler

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        """The result of the active controller; TOPIC_ALREADY_EXISTS counts as success."""
        return (await self.create_all([topic], request))[topic]

    async def create_all(self, topics: Sequence[str], request: ApiRequest | None) -> Results:
        """The results of the active controller. One request creates all topics that are not being created already."""
        joined = [topic for topic in topics if topic in self._in_flight]
        results = await self._results(topics, request)
        again = [topic for topic in joined if results[topic][0] in _CAUSED_BY_REQUEST]
        return results | (await self._results(again, request) if again else {})

    async def _results(self, topics: Sequence[str], request: ApiRequest | None) -> Results:
        tasks = {topic: self._in_flight.get(topic) for topic in topics}
        missing = [topic for topic, task in tasks.items() if task is None]
        if missing:
            creation = asyncio.ensure_future(self._create(missing, request))
            self._in_flight |= dict.fromkeys(missing, creation)
            tasks |= dict.fromkeys(missing, creation)
        results: Results = {}
        for topic, task in tasks.items():
            assert task is not None
            results[topic] = (await asyncio.shield(task))[topic]
        return results

    async def _create(self, topics: list[str], request: ApiRequest | None) -> Results:
        try:
            reject_too_many(len(topics))
            response = await self._ask(self._creation_request(topics), request)
        except KafkaError as error:
            return dict.fromkeys(topics, (int(error.error), error.message))
        finally:  # not in a callback of the task, which runs later: a creation that has ended is joined by no request
            for topic in topics:
                del self._in_flight[topic]
        missing_result = int(Error.UNKNOWN_SERVER_ERROR), "the controller's answer does not name the topic"
        return dict.fromkeys(topics, missing_result) | {
            result.name: self._result(result, request) for result in response.topics
        }

    def _creation_request(self, topics: Iterable[str]) -> CreateTopicsRequest:
        request = CreateTopicsRequest(timeout_ms=self._request_timeout_ms)
        for topic in topics:
            settings = self._internal_topics.get(topic, _BROKER_DEFAULTS)
            configs = [
                CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
                for name, value in settings.configs.items()
            ]
            request.topics.append(
                CreateTopicsRequest.CreatableTopic(
                    name=topic,
                    num_partitions=settings.partitions,
                    replication_factor=settings.replication_factor,
                    configs=configs,
                )
            )
        return request

    def _result(self, result: CreateTopicsResponse.CreatableTopicResult, request: ApiRequest | None) -> tuple[int, str]:
        if result.error_code in (Error.NONE, Error.TOPIC_ALREADY_EXISTS):
            return 0, ""
        source = "" if request is None else request.context.client_address
        suppressed = self._limiter.admit("topic was not created", source)
        if suppressed is not None:
            problem = result.error_message or Error.of(result.error_code).name
            # While a cluster starts, there are not enough brokers yet: the creation is retried.
            early = request is None and result.error_code == Error.INVALID_REPLICATION_FACTOR
            level = logging.INFO if early else logging.WARNING
            log.log(level, "Topic not created (topic=%s): %s%s", result.name, problem, suppressed)
        return result.error_code, result.error_message or ""

    async def _ask(self, creation_request: CreateTopicsRequest, request: ApiRequest | None) -> CreateTopicsResponse:
        if not self._controller.is_active:
            return await self._in_envelope(creation_request, request)
        if request is not None:
            return await self._as_client(creation_request, request)
        context = self._broker_context
        own: CreateTopicsResponse = await self._controller.handle(ApiKey.CREATE_TOPICS, creation_request, context)
        return own

    async def _as_client(self, creation_request: CreateTopicsRequest, request: ApiRequest) -> CreateTopicsResponse:
        """Handled on this node as if the client had sent it, with its principal and client id (F14)."""
        assert self._handler is not None
        header = RequestHeader(ApiKey.CREATE_TOPICS, _VERSION, request.header.correlation_id, request.header.client_id)
        as_client = ApiRequest(header, creation_request, request.context, b"", request.received_at)
        response: Any = await settled(self._handler(as_client))
        assert isinstance(response, CreateTopicsResponse)
        return response

    async def _in_envelope(
        self, creation_request: CreateTopicsRequest, request: ApiRequest | None
    ) -> CreateTopicsResponse:
        context, correlation_id, client_id, principal = self._broker_context, 0, "", None
        if request is not None:
            context, correlation_id = request.context, request.header.correlation_id
            client_id, principal = request.header.client_id or "", self._serde.serialize(context.principal)
        try:
            header = encode_request_header(ApiKey.CREATE_TOPICS, _VERSION, correlation_id, client_id or None)
        except StringTooLong as error:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, str(error)) from error
        envelope = await self._envelopes.envelope(
            header + creation_request.encode(_VERSION),
            principal,
            context.client_address_bytes,
            self._request_timeout_ms,
        )
        if envelope.error_code != Error.NONE:
            # Errors between brokers are logged, not returned: a client cannot use them (F5).
            log.error(
                "Envelope rejected by the active controller: %s",
                Error.of(envelope.error_code).name,
                extra=CLIENT_CAUSED,
            )
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, "the active controller rejected the Envelope")
        try:
            _, offset = decode_response_header(envelope.response_data or b"", ApiKey.CREATE_TOPICS, _VERSION)
            response: CreateTopicsResponse = CreateTopicsResponse.decode(
                envelope.response_data or b"", _VERSION, offset
            )
        except DecodeError as error:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"the controller's answer does not parse: {error}") from error
        return response
