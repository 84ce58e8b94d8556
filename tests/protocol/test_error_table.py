from __future__ import annotations

import importlib
from typing import Any

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError, error_codes, has_not_controller_error
from signalbox.protocol.messages.alter_partition import AlterPartitionResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse


def test_codes_run_from_minus_1_without_a_gap() -> None:
    assert [int(error) for error in sorted(Error)] == list(range(-1, 134))


def test_codes_names_and_retriability_are_kios() -> None:
    """Every code is compared with kio, an independent implementation."""
    theirs = importlib.import_module("kio.schema.errors").ErrorCode
    assert {(int(error), error.name.lower(), error.retriable) for error in Error} == {
        (code.value, code.name, code.retriable) for code in theirs
    }


@pytest.mark.parametrize(
    ("error", "code", "retriable"),
    [
        (Error.NOT_CONTROLLER, 41, True),
        (Error.LISTENER_NOT_FOUND, 72, True),
        (Error.PRINCIPAL_DESERIALIZATION_FAILURE, 97, False),
        (Error.REBOOTSTRAP_REQUIRED, 129, False),
        (Error.UNKNOWN_SERVER_ERROR, -1, False),
        (Error.NONE, 0, False),
    ],
)
def test_the_codes_routing_is_about(error: Error, code: int, retriable: bool) -> None:
    assert error == code
    assert error.retriable is retriable
    assert error.message.endswith(".")


def test_every_error_has_its_own_message() -> None:
    assert len({error.message for error in Error}) == len(Error)


def test_a_code_from_the_wire() -> None:
    assert Error.of(3) is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert Error.of(9999) is Error.UNKNOWN_SERVER_ERROR


def test_a_kafka_error_has_code_and_message() -> None:
    plain = KafkaError(Error.NOT_CONTROLLER)
    assert (plain.error, plain.message) == (Error.NOT_CONTROLLER, Error.NOT_CONTROLLER.message)
    worded = KafkaError(Error.INVALID_CONFIG, "retention.ms must be a number")
    assert str(worded) == "INVALID_CONFIG: retention.ms must be a number"


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
