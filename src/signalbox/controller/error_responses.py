"""A response that rejects a whole request, in the form of its API: NOT_CONTROLLER, or an error of the controller.

One row per API that the controller decides; `dispatch.py` has the same rows, and a test compares the two. Brokers use
the same response forms (`protocol/error_builders`) for the APIs of clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.controller.entities.token_control import rejected_creation, rejected_expiry, rejected_renewal
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_builders import FailedRequest, top_level
from signalbox.protocol.error_builders.changes import BUILDERS
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownResponse

Rejection = Callable[[Any, Error, str], Message]


def reject(api_key: int, request: Any, error: Error, message: str | None = None) -> Message:
    """The response to `request` with `error` in every error code of its API, and `message` (default: Kafka's text for
    the error) where the API has a field for a message."""
    return REJECTIONS[ApiKey(api_key)](request, error, message or error.message)


def _shaped(api_key: ApiKey) -> Rejection:
    """The response in the newest version: fields that an older version lacks are left out when it is encoded."""
    row, build = API_TABLE[api_key], BUILDERS.get(api_key, top_level)

    def rejection(request: Any, error: Error, message: str) -> Message:
        answer: Message = build(FailedRequest(request, row.max_version), row.response, int(error), message)
        return answer

    return rejection


def _controlled_shutdown(request: Any, error: Error, message: str) -> Message:
    # The one API that returns another error for "not the controller".
    returned = Error.STALE_CONTROLLER_EPOCH if error is Error.NOT_CONTROLLER else error
    return ControlledShutdownResponse(error_code=returned)


_SHAPED = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
)
REJECTIONS: dict[ApiKey, Rejection] = {
    **{api_key: _shaped(api_key) for api_key in _SHAPED},
    ApiKey.CREATE_DELEGATION_TOKEN: lambda request, error, message: rejected_creation(request, error),
    ApiKey.RENEW_DELEGATION_TOKEN: lambda request, error, message: rejected_renewal(error),
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda request, error, message: rejected_expiry(error),
    ApiKey.CONTROLLED_SHUTDOWN: _controlled_shutdown,
}
