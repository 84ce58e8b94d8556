"""An answer that refuses a whole request, in the shape of its API: NOT_CONTROLLER, or a fault of ours.

One row per API that the controller decides; `dispatch.py` has the same rows, and a test holds the two equal. The shapes
of what clients ask for are those that brokers answer in too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.controller.token_control import refused_creation, refused_expiry, refused_renewal
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_shapes import Asked, top_level
from signalbox.protocol.error_shapes.changes import SHAPES
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownResponse

Refusal = Callable[[Any, Error, str], Message]


def refuse(api_key: int, request: Any, error: Error, message: str | None = None) -> Message:
    """The answer to `request` that says `error` wherever its API says errors, and `message` (or Kafka's words for the
    error) where it has a place for words."""
    return REFUSALS[ApiKey(api_key)](request, error, message or error.message)


def _shaped(api_key: ApiKey) -> Refusal:
    """Of the newest version: what an older one has no room for is left out when it is encoded."""
    row, shape = API_TABLE[api_key], SHAPES.get(api_key, top_level)

    def refusal(request: Any, error: Error, message: str) -> Message:
        answer: Message = shape(Asked(request, row.max_version), row.response, int(error), message)
        return answer

    return refusal


def _controlled_shutdown(request: Any, error: Error, message: str) -> Message:
    # The one API whose answer for "not the controller" has another number.
    told = Error.STALE_CONTROLLER_EPOCH if error is Error.NOT_CONTROLLER else error
    return ControlledShutdownResponse(error_code=told)


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
REFUSALS: dict[ApiKey, Refusal] = {
    **{api_key: _shaped(api_key) for api_key in _SHAPED},
    ApiKey.CREATE_DELEGATION_TOKEN: lambda request, error, message: refused_creation(request, error),
    ApiKey.RENEW_DELEGATION_TOKEN: lambda request, error, message: refused_renewal(error),
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda request, error, message: refused_expiry(error),
    ApiKey.CONTROLLED_SHUTDOWN: _controlled_shutdown,
}
