"""Loggers as a config resource: Kafka's level names and messages over Python's loggers (KIP-412)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

pytestmark = pytest.mark.spec("D15")

SET, DELETE, APPEND, SUBTRACT = range(4)
LOGGERS = BrokerLoggers(1)
NAME = "signalbox.of_a_test.inner"


@pytest.fixture(autouse=True)
def _levels_come_back() -> Iterator[None]:
    logging.getLogger(NAME)
    kept = logging.root.level
    yield
    logging.root.setLevel(kept)
    for name in (NAME, "signalbox.of_a_test"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def config(name: str, operation: int, value: str | None = None) -> Any:
    return IncrementalAlterConfigsRequest.AlterableConfig(name=name, config_operation=operation, value=value)


@pytest.mark.parametrize(
    ("level", "number"), [("TRACE", 5), ("DEBUG", 10), ("INFO", 20), ("WARN", 30), ("ERROR", 40), ("FATAL", 50)]
)
def test_every_level_is_set_and_described(level: str, number: int) -> None:
    LOGGERS.alter("1", [config(NAME, SET, level)], validate_only=False)
    assert logging.getLogger(NAME).level == number
    assert LOGGERS.levels()[NAME] == level


def test_a_level_taken_back_is_that_of_the_logger_above() -> None:
    above = "signalbox.of_a_test"
    LOGGERS.alter("1", [config(above, SET, "ERROR"), config(NAME, SET, "DEBUG")], validate_only=False)
    assert (LOGGERS.levels()[above], LOGGERS.levels()[NAME]) == ("ERROR", "DEBUG")
    LOGGERS.alter("1", [config(NAME, DELETE)], validate_only=False)
    assert LOGGERS.levels()[NAME] == "ERROR"
    LOGGERS.alter("1", [config("root", SET, "WARN"), config(above, DELETE)], validate_only=False)
    assert LOGGERS.levels()[NAME] == LOGGERS.levels()["root"] == "WARN"


def test_pythons_other_levels_have_a_name_too() -> None:
    for number, recorded in ((1, "TRACE"), (25, "WARN"), (50, "FATAL"), (99, "FATAL")):
        logging.getLogger(NAME).setLevel(number)
        assert LOGGERS.levels()[NAME] == recorded


@pytest.mark.parametrize(
    ("configs", "error", "message"),
    [
        ([config("no.such", SET, "INFO")], Error.INVALID_CONFIG, "Logger no.such does not exist!"),
        ([config("no.such", DELETE)], Error.INVALID_CONFIG, "Logger no.such does not exist!"),
        (
            [config(NAME, SET, "LOUD")],
            Error.INVALID_CONFIG,
            f"Cannot set the log level of {NAME} to LOUD as it is not a supported log level. Valid log levels are"
            " DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        ([config(NAME, SET, "info")], Error.INVALID_CONFIG, f"Cannot set the log level of {NAME} to info"),
        ([config(NAME, SET)], Error.INVALID_REQUEST, f"Null value not supported for : {NAME}"),
        ([config("root", DELETE)], Error.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"),
        (
            [config(NAME, APPEND, "INFO")],
            Error.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            [config(NAME, 9, "INFO")],
            Error.INVALID_REQUEST,
            "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource",
        ),
        (
            [config(NAME, SET, "INFO"), config(NAME, DELETE)],
            Error.INVALID_REQUEST,
            f"Error due to duplicate config keys : {NAME}",
        ),
    ],
)
def test_what_is_rejected_changes_nothing(configs: list[Any], error: Error, message: str) -> None:
    first = config("signalbox.of_a_test", SET, "TRACE")
    with pytest.raises(KafkaError) as rejected:
        LOGGERS.alter("1", [first, *configs], validate_only=False)
    assert rejected.value.error is error
    assert rejected.value.message.startswith(message)
    assert logging.getLogger("signalbox.of_a_test").level == logging.NOTSET


def test_validated_only_changes_nothing() -> None:
    LOGGERS.alter("1", [config(NAME, SET, "TRACE")], validate_only=True)
    assert logging.getLogger(NAME).level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Broker id must not be empty"),
        ("one", "Broker id must be an integer, but it is: one"),
        ("2", "Unexpected broker id, expected 1 but received 2"),
    ],
)
def test_only_for_this_broker(name: str, message: str) -> None:
    with pytest.raises(KafkaError) as rejected:
        LOGGERS.alter(name, [], validate_only=True)
    assert (rejected.value.error, rejected.value.message) == (Error.INVALID_REQUEST, message)
