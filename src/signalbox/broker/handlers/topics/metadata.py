"""Metadata (key 3): topics and brokers as seen on the request's listener. KIP-103, KIP-516; versions 0-13.

The response contains only endpoints of the listener that received the request (L10). A partition whose leader lacks
that listener is LISTENER_NOT_FOUND (LEADER_NOT_AVAILABLE below version 6). If client and broker allow it, the active
controller creates missing topics; the response waits for it, at most for the request timeout (F10, F11). A broker that
has started has no metadata until the controller sends it: the response waits for that, too, as a client would take an
empty list of brokers for the whole cluster. Version notes:
in version 0 an empty list means all topics; topics may be named by id from version 12 on (10 and 11 have the field, but
a request that uses it is rejected); below 4 the client always allows auto-creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, settled
from signalbox.broker.authorization.authorization import may, may_on_cluster, operations_bit_field
from signalbox.broker.routing.exposed_nodes import AdvertisedController
from signalbox.broker.routing.recent_disconnects import RecentDisconnects
from signalbox.broker.topics.all_topics_response_cache import MIN_CACHED_TOPICS, AllTopicsResponseCache, ResponseKey
from signalbox.broker.topics.topic_creation import Results, TopicCreator
from signalbox.broker.topics.topic_view import TopicView
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import ZERO_UUID
from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage, TopicImage
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_Topic = MetadataResponse.MetadataResponseTopic
_NULL_MEANS_ALL_FROM = 1
_CREATION_IS_ASKED_FROM = 4
_POLICY_VIOLATION_FROM = 10
_ID_LOOKUPS_FROM = 12
_FIRST_METADATA_S = 5.0  # less than the timeouts of clients; without a controller there is nothing to wait for


class MetadataHandler:
    """Builds responses from the metadata cache; creates missing topics with a `TopicCreator`."""

    def __init__(
        self,
        cache: MetadataCache,
        cluster_id: str,
        authorizer: Authorizer,
        controller: AdvertisedController,
        creation: TopicCreator | None,
        recent_disconnects: RecentDisconnects | None = None,
    ) -> None:
        self._cache = cache
        self._cluster_id = cluster_id
        self._authorizer = authorizer
        self._controller = controller
        self._creation = creation
        self._recent_disconnects = recent_disconnects
        self._all_topics_cache = AllTopicsResponseCache()

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        if not self._cache.image.brokers:
            return self._with_first_metadata(request)
        hold_s = self._recent_disconnects.hold_s() if self._recent_disconnects is not None else 0.0
        return self._settled(request, hold_s) if hold_s else self._answer(request)

    async def _with_first_metadata(self, request: ApiRequest) -> FinalResponse:
        """The response when the controller has sent metadata, at most `_FIRST_METADATA_S` later."""
        await self._cache.wait_until(lambda image: bool(image.brokers), _FIRST_METADATA_S)
        response = self._answer(request)
        return await settled(response)

    async def _settled(self, request: ApiRequest, hold_s: float) -> FinalResponse:
        """The response after the controller has handled recent disconnects, at most `hold_s` later."""
        assert self._recent_disconnects is not None
        await self._recent_disconnects.settled(hold_s)
        response = self._answer(request)
        return await settled(response)

    def _answer(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: MetadataRequest = request.body
        version = request.header.api_version
        if body.topics is not None and version < _ID_LOOKUPS_FROM and any(_is_unnamed(t) for t in body.topics):
            raise KafkaError(Error.INVALID_REQUEST, "topic ids are not supported below version 12")
        if body.topics is None or (version < _NULL_MEANS_ALL_FROM and not body.topics):
            return self._all_topics(request)
        if any(topic.topic_id != ZERO_UUID for topic in body.topics):
            ids = dict.fromkeys(topic.topic_id for topic in body.topics if topic.topic_id != ZERO_UUID)
            return self._response(request, [self._by_id(request, topic_id) for topic_id in ids])
        names = dict.fromkeys(topic.name or "" for topic in body.topics)  # without duplicates, as in Kafka
        topics = [self._by_name(request, name) for name in names]
        missing = [topic for topic in topics if topic.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION]
        may_create_topics = body.allow_auto_topic_creation or version < _CREATION_IS_ASKED_FROM
        if missing and may_create_topics and self._creation is not None:
            return self._created(request, topics, self._creation)
        return self._response(request, topics)

    def _all_topics(self, request: ApiRequest) -> FinalResponse:
        """Yields."""
        image, body = self._cache.image, request.body
        topics = list(self._described_topics(request, image))
        plain = not (body.include_topic_authorized_operations or body.include_cluster_authorized_operations)
        if plain and len(topics) == len(image.topics) >= MIN_CACHED_TOPICS:
            listener, version = request.context.listener_name, request.header.api_version
            key = ResponseKey(version, listener, self._controller.id_for(listener))
            return self._all_topics_cache.answer(
                image, key, lambda: self._complete_response(request, image, topics, key.controller_id)
            )
        return self._complete_response(request, image, topics)

    def _described_topics(self, request: ApiRequest, image: MetadataImage) -> Iterator[TopicImage]:
        """Yields."""
        for topic in image.topics.values():
            yield_if_due()
            if may(self._authorizer, request.context, AclOperation.DESCRIBE, topic.name):
                yield topic

    def _by_id(self, request: ApiRequest, topic_id: bytes) -> _Topic:
        name = self._cache.image.topic_name(topic_id)
        if name is None:
            return _Topic(error_code=Error.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        topic = self._by_name(request, name)
        if topic.error_code == Error.TOPIC_AUTHORIZATION_FAILED:
            return _Topic(error_code=topic.error_code, name=None, topic_id=topic_id)
        return topic

    def _by_name(self, request: ApiRequest, name: str) -> _Topic:
        if not may(self._authorizer, request.context, AclOperation.DESCRIBE, name):
            return _Topic(error_code=Error.TOPIC_AUTHORIZATION_FAILED, name=name)
        topic = self._cache.image.topics.get(name)
        if topic is None:
            legal = reject_topic_name(name) is None
            error = Error.UNKNOWN_TOPIC_OR_PARTITION if legal else Error.INVALID_TOPIC_EXCEPTION
            return _Topic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS)
        view = TopicView(self._cache.image, request.context.listener_name, request.header.api_version)
        return self._with_operations(request, view.topic(topic))

    def _with_operations(self, request: ApiRequest, topic: _Topic) -> _Topic:
        if request.body.include_topic_authorized_operations:
            topic.topic_authorized_operations = operations_bit_field(
                self._authorizer, request.context, ResourceType.TOPIC, topic.name or ""
            )
        return topic

    async def _created(self, request: ApiRequest, topics: list[_Topic], creation: TopicCreator) -> FinalResponse:
        missing = [topic.name or "" for topic in topics if topic.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION]
        allowed = [name for name in missing if self._may_create(request, name)]
        results: Results = await creation.create_all(allowed, request) if allowed else {}

        def shown(topic: _Topic) -> _Topic:
            name = topic.name or ""
            if topic.error_code != Error.UNKNOWN_TOPIC_OR_PARTITION:
                return topic
            if name not in results:
                return _Topic(error_code=Error.TOPIC_AUTHORIZATION_FAILED, name=name)
            return self._after_creation(request, name, results[name][0])

        return self._response(request, map(shown, topics))

    def _after_creation(self, request: ApiRequest, name: str, code: int) -> _Topic:
        """The topic for this result of its creation."""
        if code == Error.NONE:
            fresh = self._by_name(request, name)
            # Created, but not in this broker's image yet: the client retries.
            if fresh.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION:
                fresh.error_code = Error.LEADER_NOT_AVAILABLE
            return fresh
        if code == Error.POLICY_VIOLATION and request.header.api_version < _POLICY_VIOLATION_FROM:
            code = Error.TOPIC_AUTHORIZATION_FAILED
        if code == Error.REQUEST_TIMED_OUT:
            code = Error.LEADER_NOT_AVAILABLE  # the topic may exist soon: the client retries
        if code == Error.THROTTLING_QUOTA_EXCEEDED:
            code = Error.UNKNOWN_TOPIC_OR_PARTITION  # as in Kafka; older clients do not know the other and give up
        return _Topic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS)

    def _may_create(self, request: ApiRequest, name: str) -> bool:
        return may_on_cluster(self._authorizer, request.context, AclOperation.CREATE) or may(
            self._authorizer, request.context, AclOperation.CREATE, name
        )

    def _complete_response(
        self, request: ApiRequest, image: MetadataImage, topics: Iterable[TopicImage], controller_id: int | None = None
    ) -> MetadataResponse:
        view = TopicView(image, request.context.listener_name, request.header.api_version)
        shown = [self._with_operations(request, view.topic(topic)) for topic in topics]
        return self._response(request, shown, image, controller_id)

    def _response(
        self,
        request: ApiRequest,
        topics: Iterable[_Topic],
        image: MetadataImage | None = None,
        controller_id: int | None = None,
    ) -> MetadataResponse:
        listener = request.context.listener_name
        image = image or self._cache.image
        response = MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=node_id, host=endpoint.host, port=endpoint.port, rack=image.brokers[node_id].rack
                )
                for node_id, endpoint in image.nodes(listener).items()
            ],
            cluster_id=self._cluster_id,
            controller_id=self._controller.id_for(listener) if controller_id is None else controller_id,
            topics=list(topics),
        )
        if request.body.include_cluster_authorized_operations:
            allowed = may_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE)
            response.cluster_authorized_operations = (
                operations_bit_field(self._authorizer, request.context, ResourceType.CLUSTER, CLUSTER_NAME)
                if allowed
                else 0
            )
        return response


def _is_unnamed(topic: MetadataRequest.MetadataRequestTopic) -> bool:
    return topic.name is None or topic.topic_id != ZERO_UUID
