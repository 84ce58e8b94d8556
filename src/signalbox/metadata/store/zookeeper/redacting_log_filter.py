"""Removes payloads from kazoo's log.

At DEBUG kazoo logs complete requests and responses: SCRAM credentials, digest logins, sensitive configs. A user who may
alter a broker's loggers could have them logged, so only the kind and the path of each request are left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_SHOWN = (str, int, float, type(None), BaseException)


def hide_payloads(record: logging.LogRecord) -> bool:
    """A filter for kazoo's logger: it accepts every message and replaces requests and responses in it."""
    if record.args and not isinstance(record.args, Mapping):
        record.args = tuple(each if isinstance(each, _SHOWN) else _named(each) for each in record.args)
    return True


def _named(hidden: Any) -> str:
    path = getattr(hidden, "path", None)
    kind = type(hidden).__name__
    return f"{kind} {path}" if isinstance(path, str) else kind
