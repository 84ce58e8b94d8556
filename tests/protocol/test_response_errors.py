"""Where responses have their error codes, for every API that may return NOT_CONTROLLER."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.response_errors import error_codes, has_not_controller_error

TO_CONTROLLER = (ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ENVELOPE)
ASKED = [row for key, row in API_TABLE.items() if row.forwardable or key in TO_CONTROLLER]


def denials(made: Any) -> list[Any]:
    """The response with NOT_CONTROLLER in each field for an error code, one field at a time."""
    if "error_code" in made._attributes:
        return [made(error_code=Error.NOT_CONTROLLER)]
    entries = [value for value in vars(made).values() if isinstance(value, type) and hasattr(value, "_attributes")]
    with_code = [entry for entry in entries if "error_code" in entry._attributes]
    arrays = [name for name in made._attributes if isinstance(getattr(made(), name), list)]
    return [made(**{name: [entry(), entry(error_code=Error.NOT_CONTROLLER)]}) for name in arrays for entry in with_code]


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.name)
def test_every_answer_that_may_deny_is_understood(row: Any) -> None:
    found = denials(row.response)
    assert found, "an answer without a place for the code"
    assert all(has_not_controller_error(response) for response in found)
    assert not has_not_controller_error(row.response())


def test_one_entry_among_many_is_enough() -> None:
    result = CreateTopicsResponse.CreatableTopicResult
    mixed = CreateTopicsResponse(topics=[result(name="a"), result(name="b", error_code=Error.NOT_CONTROLLER)])
    assert list(error_codes(mixed)) == [0, 41]
    assert has_not_controller_error(mixed)
    assert not has_not_controller_error(CreateTopicsResponse(topics=[result(name="a", error_code=36)]))
    assert not has_not_controller_error(AlterPartitionResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED))
