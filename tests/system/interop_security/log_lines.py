"""Log messages of a Python client: kafka-python and aiokafka report only there why no broker accepted them."""

from __future__ import annotations

import logging
from types import TracebackType


class LogLines(logging.Handler):
    """Collects the warnings of one logger inside the block; `text` is all of them."""

    def __init__(self, logger: str) -> None:
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger(logger)
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def __enter__(self) -> LogLines:
        self._logger.addHandler(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self._logger.removeHandler(self)
