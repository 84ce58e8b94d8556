"""The error response of each API that brokers serve, for a request that fails as a whole.

Most builders are in `protocol/error_shapes`; here are those that need other packages than the protocol. A test encodes
each API's error response at every version.
"""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, ResponseMessage
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_builders import (
    ErrorBuilder,
    FailedRequest,
    changes,
    groups,
    records,
    top_level,
    transactions,
)
from signalbox.protocol.error_table import Error
from signalbox.replication.leader_and_isr import reject_leader_and_isr
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal

_TOKEN_NAMES_REQUESTER_FROM = 3


def error_response(request: ApiRequest, error: Error, message: str | None = None) -> ResponseMessage:
    """The API's response with `error` for every entry of the request."""
    header = request.header
    build = _BUILDERS.get(ApiKey(header.api_key), top_level)
    rejected = FailedRequest(request.body, header.api_version)
    response: ResponseMessage = build(rejected, API_TABLE[header.api_key].response, int(error), message)
    return response


def failure(request: ApiRequest, error: Error, message: str | None = None) -> FinalResponse:
    """The result for a request that fails as a whole. A client that sent acks=0 expects no response and would mistake
    an error response for that of its next request, so its connection is closed, as in Kafka."""
    if request.header.api_key == ApiKey.PRODUCE and request.body.acks == 0:
        return CloseConnection(f"produce with acks=0 failed: {error.name}")
    return error_response(request, error, message)


def _leader_and_isr(rejected: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    return reject_leader_and_isr(rejected.body, rejected.version, Error.of(code))


def _create_delegation_token(rejected: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    # Kafka returns ANONYMOUS as owner and requester when a request fails before it reads them.
    requester = ANONYMOUS if rejected.version >= _TOKEN_NAMES_REQUESTER_FROM else KafkaPrincipal("", "")
    return response(
        error_code=code,
        principal_type=ANONYMOUS.type,
        principal_name=ANONYMOUS.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


_BUILDERS: dict[ApiKey, ErrorBuilder] = {
    **records.BUILDERS,
    **groups.BUILDERS,
    **changes.BUILDERS,
    **transactions.BUILDERS,
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.CREATE_DELEGATION_TOKEN: _create_delegation_token,
}
