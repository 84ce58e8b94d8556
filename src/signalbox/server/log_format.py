"""Log format: one line per event, `time level node logger message`, or JSON with LOG_FORMAT=json.

A message with text from a client (its client id, a topic's name) stays on one line: control characters and all other
unprintable characters are escaped, and a line of an exception's text that begins with a digit is indented, so that only
real log lines begin with a time. Warnings of libraries get the same format. Secrets are never logged: callers log keys
and places, not values.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

from signalbox.common.log_limiter import ClientLineLimits


class LineFormat(logging.Formatter):
    """Text lines; `node` precedes the message because several nodes may share a terminal."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        line = f"{when}Z {record.levelname:<7} node={self._node} {record.name}: {escaped(record.getMessage())}"
        if not record.exc_info:
            return line
        return "\n".join([line, *map(_inside_exception, self.formatException(record.exc_info).split("\n"))])


def _inside_exception(text: str) -> str:
    return f"  {escaped(text)}" if text[:1].isdigit() else escaped(text)


def escaped(text: str) -> str:
    """`text` on one line: unprintable characters as \\n, \\x00, \\u202e."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class JsonFormat(LineFormat):
    """One JSON object per line, for log collectors."""

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


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_FORMATS = ("text", "json")


def start_logging(node: str) -> None:
    """Log to standard error; LOG_LEVEL (default INFO) and LOG_FORMAT (text or json), in upper or lower case, come from
    the environment. ValueError for other values."""
    level = os.environ.get("LOG_LEVEL", "").upper() or "INFO"
    form = os.environ.get("LOG_FORMAT", "").lower() or "text"
    for name, value, values in (("LOG_LEVEL", level, _LEVELS), ("LOG_FORMAT", form, _FORMATS)):
        if value not in values:
            raise ValueError(f"{name} of the environment is {os.environ[name]!r}: expected one of {', '.join(values)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(ClientLineLimits())
    handler.setFormatter(JsonFormat(node) if form == "json" else LineFormat(node))
    logging.basicConfig(level=level, handlers=[handler], force=True)
