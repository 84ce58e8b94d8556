"""Topics in requests about offsets of groups: what they are called, and whether the client may use them."""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.authorization.authorization import may
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class OffsetTopics:
    """The check of one API: the client needs `operation` on each topic; from version `ids_from` on topics have ids."""

    def __init__(self, cache: MetadataCache, authorizer: Authorizer, operation: AclOperation, ids_from: int) -> None:
        self._cache = cache
        self._authorizer = authorizer
        self._operation = operation
        self._ids_from = ids_from

    def may(self, request: ApiRequest, topic: str) -> bool:
        return may(self._authorizer, request.context, self._operation, topic)

    def error(self, request: ApiRequest, topic: Any) -> Error:
        """Sets the name of a topic that has an id only; returns the error that rejects the topic, or NONE."""
        if request.header.api_version >= self._ids_from:
            name = self._cache.image.topic_name(topic.topic_id)
            if name is None:
                return Error.UNKNOWN_TOPIC_ID
            topic.name = name
        return Error.NONE if self.may(request, topic.name) else Error.TOPIC_AUTHORIZATION_FAILED
