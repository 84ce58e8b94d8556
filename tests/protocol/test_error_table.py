import importlib

import pytest

from signalbox.protocol.error_table import Error, KafkaError


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
