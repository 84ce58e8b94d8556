"""Structured logs: one line an event, `time level node logger message`, or JSON when LOG_FORMAT=json.

Warnings of libraries go the same way. Secrets never reach a log: callers log keys and places, not values.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime


class LineFormat(logging.Formatter):
    """Readable lines; `node` is in front of the message because several nodes share a terminal."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        line = f"{when}Z {record.levelname:<7} node={self._node} {record.name}: {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormat(LineFormat):
    """One JSON object a line, for collectors."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "node": self._node,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def start_logging(node: str) -> None:
    """Log to standard error; LOG_LEVEL (default INFO) and LOG_FORMAT (text or json) come from the environment."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormat(node) if os.environ.get("LOG_FORMAT") == "json" else LineFormat(node))
    logging.basicConfig(level=os.environ.get("LOG_LEVEL", "INFO"), handlers=[handler], force=True)
