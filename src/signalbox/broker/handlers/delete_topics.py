"""DeleteTopics (key 20): answered by the active controller; other brokers forward. KIP-516; versions 1-6.

Needs DELETE on the topic; asked by id without DESCRIBE it is not deleted and its name not told. Version 6 names topics
or ids in one list, earlier versions only names; both at once for one entry is INVALID_REQUEST for the whole request,
none of them for the entry. A name or an id given twice is answered once, INVALID_REQUEST, whoever asks. Version note:
TOPIC_DELETION_DISABLED is said from 3 on, INVALID_REQUEST before.
"""

from __future__ import annotations

from collections import Counter

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import may
from signalbox.broker.ports import ActiveController
from signalbox.broker.throttling import Throttling
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = DeleteTopicsResponse.DeletableTopicResult
_State = DeleteTopicsRequest.DeleteTopicState
_DELETION_DISABLED_FROM = 3
_THROTTLING_IS_TOLD_FROM = 5


class DeleteTopicsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, cache: MetadataCache, throttling: Throttling
    ) -> None:
        self._throttling = throttling
        self._controller = controller
        self._authorizer = authorizer
        self._cache = cache

    def __call__(self, request: ApiRequest) -> Answer:
        return self._delete(request)

    async def _delete(self, request: ApiRequest) -> FinalAnswer:
        body: DeleteTopicsRequest = request.body
        states = [_State(name=name) for name in body.topic_names] + list(body.topics)
        if any(state.name is not None and state.topic_id != ZERO_UUID for state in states):
            raise KafkaError(Error.INVALID_REQUEST, "a topic is named or given by its id, not both")
        times = Counter((state.name, state.topic_id) for state in states)
        results = [_repeated(name, topic_id) for (name, topic_id), count in times.items() if count > 1]
        changes = self._throttling.changes(request, _THROTTLING_IS_TOLD_FROM)
        allowed: list[_State] = []
        costs: dict[str | bytes | None, int] = {}
        for state in states:
            if times[state.name, state.topic_id] > 1:
                continue
            refusal = self._refusal(request, state)
            if refusal is not None:
                results.append(refusal)
                continue
            cost = self._partitions(state)
            if changes.allows(cost):
                allowed.append(state)
                costs[state.topic_id if state.name is None else state.name] = cost
            else:
                results.append(
                    _Result(
                        name=state.name,
                        topic_id=state.topic_id,
                        error_code=Error.THROTTLING_QUOTA_EXCEEDED,
                        error_message=Error.THROTTLING_QUOTA_EXCEEDED.message,
                    )
                )
        if allowed:
            wanted = DeleteTopicsRequest(topics=allowed, timeout_ms=body.timeout_ms)
            answer: DeleteTopicsResponse = await self._controller.handle(ApiKey.DELETE_TOPICS, wanted, request.context)
            for result in answer.responses:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0) or costs.get(result.topic_id, 0))
            results += answer.responses
        if request.header.api_version < _DELETION_DISABLED_FROM:
            for result in results:
                if result.error_code == Error.TOPIC_DELETION_DISABLED:
                    result.error_code = Error.INVALID_REQUEST
        return DeleteTopicsResponse(responses=results, throttle_time_ms=changes.throttle_ms)

    def _partitions(self, state: _State) -> int:
        """What deleting the topic costs (KIP-599)."""
        image = self._cache.image
        topic = image.topics.get(state.name if state.name is not None else image.topic_name(state.topic_id) or "")
        return len(topic.partitions) if topic is not None else 0

    def _refusal(self, request: ApiRequest, state: _State) -> _Result | None:
        by_id = state.name is None
        if by_id and state.topic_id == ZERO_UUID:
            return _nothing_given()
        name = self._cache.image.topic_name(state.topic_id) if by_id else state.name
        if name is None:
            return _Result(name=None, topic_id=state.topic_id, error_code=Error.UNKNOWN_TOPIC_ID)
        tells_name = not by_id or may(self._authorizer, request.context, AclOperation.DESCRIBE, name)
        if tells_name and may(self._authorizer, request.context, AclOperation.DELETE, name):
            return None
        return _Result(
            name=name if tells_name else None,
            topic_id=state.topic_id,
            error_code=Error.TOPIC_AUTHORIZATION_FAILED,
            error_message="Authorization failed.",
        )


def _repeated(name: str | None, topic_id: bytes) -> _Result:
    if name is None and topic_id == ZERO_UUID:
        return _nothing_given()
    what = "name" if name is not None else "id"
    return _Result(
        name=name, topic_id=topic_id, error_code=Error.INVALID_REQUEST, error_message=f"Duplicate topic {what}."
    )


def _nothing_given() -> _Result:
    return _Result(name=None, error_code=Error.INVALID_REQUEST, error_message="Neither topic name nor id was given.")
