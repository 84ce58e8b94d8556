"""EndTxn (26): commit or abort a transaction. KIP-98, KIP-360, KIP-890; versions 0-5.

Needs WRITE on the transactional id. The coordinator responds when the result is in its log; the markers follow.
Version notes: PRODUCER_FENCED is INVALID_PRODUCER_EPOCH before version 2. Producers of transaction version 2 send
version 5: each transaction raises the producer epoch, and the response has the next one.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import require_transactional_id
from signalbox.broker.handlers.transactions.add_partitions_to_txn import error_for_version
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_EPOCH_BUMP_FROM = 5
_BUMPING_CLIENT, _CLIENT = 2, 0  # transaction versions


class EndTxnHandler:
    def __init__(self, transactions: TransactionCoordinator, authorizer: Authorizer) -> None:
        self._transactions = transactions
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: EndTxnRequest = request.body
        version = request.header.api_version
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, body.transactional_id)

        def for_version(response: EndTxnResponse) -> EndTxnResponse:
            response.error_code = error_for_version(Error.of(response.error_code), version)
            return response

        ended = self._transactions.end_txn(body, _BUMPING_CLIENT if version >= _EPOCH_BUMP_FROM else _CLIENT)
        return ended.map(for_version)
