"""Loggers of this broker as a config resource (KIP-412): the broker that receives the request reads or changes its own
levels; requests are never forwarded.

The names are those of Python's loggers (`signalbox.controller.runtime`, `kazoo`, and `root` as the parent of all). A
logger whose level is deleted inherits the level of its parent again. Kafka's TRACE is below DEBUG, its FATAL is
Python's CRITICAL. A level that is set here is valid until the process ends.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from signalbox.protocol.config_resource import AlterConfigOp
from signalbox.protocol.error_table import Error, KafkaError

ROOT_LOGGER = "root"
_TRACE = 5
_LEVELS = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": _TRACE,
    "WARN": logging.WARNING,
}

log = logging.getLogger(__name__)


class BrokerLoggers:
    """The loggers of broker `node_id`."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id

    def reject_name(self, name: str) -> None:
        """KafkaError(INVALID_REQUEST) unless `name` is this broker's id."""
        if not name:
            raise KafkaError(Error.INVALID_REQUEST, "Broker id must not be empty")
        if not (name.isascii() and name.lstrip("-").isdigit()):
            raise KafkaError(Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if name != str(self._node_id):
            raise KafkaError(
                Error.INVALID_REQUEST, f"Unexpected broker id, expected {self._node_id} but received {name}"
            )

    def levels(self) -> dict[str, str]:
        """Every existing logger with its effective level."""
        names = sorted(logging.root.manager.loggerDict)
        levels = {name: _level_name(_effective(name)) for name in names}
        return {ROOT_LOGGER: _level_name(logging.root.level), **levels}

    def alter(self, name: str, configs: Sequence[Any], validate_only: bool) -> None:
        """Set and delete levels, all or none; KafkaError with the first error found."""
        self.reject_name(name)
        repeated = sorted(name for name, times in Counter(config.name for config in configs).items() if times > 1)
        if repeated:
            raise KafkaError(Error.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(repeated)}")
        for config in configs:
            _reject(config)
        for config in () if validate_only else configs:
            level = _LEVELS[config.value] if config.config_operation == AlterConfigOp.SET else logging.NOTSET
            _logger(config.name).setLevel(level)
            log.info("Logger level changed (logger=%s, level=%s)", config.name, _level_name(_effective(config.name)))


def _reject(config: Any) -> None:
    name, operation = config.name, config.config_operation
    if operation not in (AlterConfigOp.SET, AlterConfigOp.DELETE):
        is_known = operation in tuple(AlterConfigOp)
        operation_text = (
            f"{AlterConfigOp(operation).name} operation" if is_known else f"Unknown operation type {operation}"
        )
        raise KafkaError(Error.INVALID_REQUEST, f"{operation_text} is not allowed for the BROKER_LOGGER resource")
    if operation == AlterConfigOp.SET and config.value is None:
        raise KafkaError(Error.INVALID_REQUEST, f"Null value not supported for : {name}")
    if name != ROOT_LOGGER and name not in logging.root.manager.loggerDict:
        raise KafkaError(Error.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == AlterConfigOp.SET and config.value not in _LEVELS:
        raise KafkaError(
            Error.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {config.value} as it is not a supported log level. Valid log levels"
            f" are {', '.join(_LEVELS)}",
        )
    if operation == AlterConfigOp.DELETE and name == ROOT_LOGGER:
        raise KafkaError(Error.INVALID_REQUEST, f"Removing the log level of the {ROOT_LOGGER} logger is not allowed")


def _logger(name: str) -> logging.Logger:
    return logging.root if name == ROOT_LOGGER else logging.getLogger(name)


def _effective(name: str) -> int:
    """The effective level of a logger. Does not create loggers for names that are only a prefix of longer names."""
    loggers = logging.root.manager.loggerDict
    while name and name != ROOT_LOGGER:
        logger = loggers.get(name)
        if isinstance(logger, logging.Logger) and logger.level:
            return logger.level
        name = name.rpartition(".")[0]
    return logging.root.level


def _level_name(level: int) -> str:
    """Kafka's name of the lowest of its levels that a logger with this level writes; FATAL for a level above all."""
    fitting = [(number, name) for name, number in _LEVELS.items() if number >= level]
    return min(fitting)[1] if fitting else "FATAL"
