"""DescribeTransactions (65), ListTransactions (66): the transactional ids that this broker coordinates. KIP-664.
Versions 0, 0-2.

Both show transactional ids on which the principal has DESCRIBE: DescribeTransactions has an error for the others,
ListTransactions leaves them out. DescribeTransactions leaves out topics without DESCRIBE.
Version notes: ListTransactions filters by duration from version 1 on (KIP-994) and by a regular expression from version
2 on (KIP-1152).
Gap: a regular expression with groups, classes, alternatives or counts, or a long one, is INVALID_REGULAR_EXPRESSION
(`id_pattern.py`).
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import allowed_names, may
from signalbox.common.cooperative_task import yielding
from signalbox.common.waiting.promise import gather
from signalbox.coordinator.transaction.describe_transactions import STATE_NAMES
from signalbox.coordinator.transaction.id_pattern import IdPattern
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_State = DescribeTransactionsResponse.TransactionState


class DescribeTransactionsHandler:
    def __init__(self, transactions: TransactionCoordinator, authorizer: Authorizer) -> None:
        self._transactions = transactions
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: DescribeTransactionsRequest = request.body
        names = body.transactional_ids
        allowed = allowed_names(
            self._authorizer, request.context, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, names
        )
        described = gather(
            [self._transactions.describe_transaction(name) for name in yielding(names) if name in allowed]
        )
        return described.map(lambda states: self._response(request, allowed, states))

    def _response(self, request: ApiRequest, allowed: Container[str], described: list[_State]) -> FinalResponse:
        """Yields."""
        for state in described:
            state.topics = [
                topic
                for topic in yielding(state.topics)
                if may(self._authorizer, request.context, AclOperation.DESCRIBE, topic.topic)
            ]
        rejected = [
            _State(transactional_id=name, error_code=Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            for name in yielding(request.body.transactional_ids)
            if name not in allowed
        ]
        return DescribeTransactionsResponse(transaction_states=described + rejected)


class ListTransactionsHandler:
    """Yields."""

    def __init__(self, transactions: TransactionCoordinator, authorizer: Authorizer) -> None:
        self._transactions = transactions
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: ListTransactionsRequest = request.body
        pattern = IdPattern.parse(body.transactional_id_pattern or "")
        if pattern is None:
            raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, body.transactional_id_pattern or "")

        def is_listed(name: str) -> bool:
            resource = ResourceType.TRANSACTIONAL_ID, name
            return self._authorizer.authorize(request.context, AclOperation.DESCRIBE, *resource) and pattern.matches(
                name
            )

        response = self._transactions.list_transactions(body, is_listed)
        response.unknown_state_filters = [name for name in body.state_filters if name not in STATE_NAMES]
        return response
