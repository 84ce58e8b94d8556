from __future__ import annotations

from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import (
    ConsumerGroupMetadata,
    TransactionRequest,
    TransactionResponse,
)
from signalbox.protocol.error_table import Error


def test_metadata_of_a_group_without_a_member_is_only_its_id() -> None:
    assert ConsumerGroupMetadata("g") == ("g", -1, "", None)


def test_defaults_are_those_of_a_request_and_a_response_without_entries() -> None:
    request = TransactionRequest(step=Step.COMMIT, node_id=1, identity=None)
    assert (request.partitions, request.group, request.offsets) == (frozenset(), None, {})
    response = TransactionResponse()
    assert (response.error, response.errors, response.identity) == (Error.NONE, {}, None)
