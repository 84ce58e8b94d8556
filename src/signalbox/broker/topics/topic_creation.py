"""Missing topics are created through the active controller, internal ones too (F10, F11).

For Metadata, the Envelope contains the client's principal, and the creation is authorized with it. For FindCoordinator,
the broker creates an internal topic as itself, in an Envelope without a principal, since a dedicated controller accepts
creations in no other way (F15). Requests for a topic that is already being created wait for the creation in flight. The
result is the controller's, so that a rejection by a policy or by replica placement reaches the client.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.ports import ActiveController
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.log_limiter import CLIENT_CAUSED, LogLimiter
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError, StringTooLong
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.security.principal import PrincipalSerde
from signalbox.security.request_context import RequestContext

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InternalTopicSettings:
    """Properties of an auto-created topic: partitions, replicas (-1 = the broker default) and configs."""

    partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str] = field(default_factory=dict)


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
        self._in_flight: dict[str, asyncio.Task[tuple[int, str]]] = {}

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        """(error code, message) of the active controller; TOPIC_ALREADY_EXISTS counts as success."""
        task = self._in_flight.get(topic)
        if task is None:
            task = asyncio.ensure_future(self._create(topic, request))
            self._in_flight[topic] = task
            task.add_done_callback(lambda _: self._in_flight.pop(topic, None))
        return await asyncio.shield(task)

    async def _create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        settings = self._internal_topics.get(topic, InternalTopicSettings())
        creation_request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(
                    name=topic,
                    num_partitions=settings.partitions,
                    replication_factor=settings.replication_factor,
                    configs=[
                        CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
                        for name, value in settings.configs.items()
                    ],
                )
            ],
            timeout_ms=self._request_timeout_ms,
        )
        try:
            response = await self._ask(creation_request, request)
        except KafkaError as error:
            return int(error.error), error.message
        if not response.topics:
            return int(Error.UNKNOWN_SERVER_ERROR), "the controller's answer names no topic"
        result = response.topics[0]
        if result.error_code in (Error.NONE, Error.TOPIC_ALREADY_EXISTS):
            return 0, ""
        source = "" if request is None else request.context.client_address
        suppressed = self._limiter.admit("topic was not created", source)
        if suppressed is not None:
            problem = result.error_message or Error.of(result.error_code).name
            # While a cluster starts, there are not enough brokers yet: the creation is retried.
            early = request is None and result.error_code == Error.INVALID_REPLICATION_FACTOR
            level = logging.INFO if early else logging.WARNING
            log.log(level, "Topic not created (topic=%s): %s%s", topic, problem, suppressed)
        return result.error_code, result.error_message or ""

    async def _ask(self, creation_request: CreateTopicsRequest, request: ApiRequest | None) -> CreateTopicsResponse:
        if self._controller.is_active:
            context = self._broker_context if request is None else request.context
            local: CreateTopicsResponse = await self._controller.handle(ApiKey.CREATE_TOPICS, creation_request, context)
            return local
        return await self._in_envelope(creation_request, request)

    async def _in_envelope(
        self, creation_request: CreateTopicsRequest, request: ApiRequest | None
    ) -> CreateTopicsResponse:
        version = API_TABLE[ApiKey.CREATE_TOPICS].max_version
        context, correlation_id, client_id, principal = self._broker_context, 0, "", None
        if request is not None:
            context, correlation_id = request.context, request.header.correlation_id
            client_id, principal = request.header.client_id or "", self._serde.serialize(context.principal)
        try:
            header = encode_request_header(ApiKey.CREATE_TOPICS, version, correlation_id, client_id or None)
        except StringTooLong as error:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, str(error)) from error
        envelope = await self._envelopes.envelope(
            header + creation_request.encode(version), principal, context.client_address_bytes, self._request_timeout_ms
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
            _, offset = decode_response_header(envelope.response_data or b"", ApiKey.CREATE_TOPICS, version)
            response: CreateTopicsResponse = CreateTopicsResponse.decode(envelope.response_data or b"", version, offset)
        except DecodeError as error:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"the controller's answer does not parse: {error}") from error
        return response
