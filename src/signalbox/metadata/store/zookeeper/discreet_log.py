"""kazoo's log without what is written and read.

At DEBUG kazoo prints whole requests and answers: SCRAM credentials, digest logins, whatever a config hides. Anyone who
may alter a broker's loggers could have them written down, so that of each only the kind and the path are left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_SHOWN = (str, int, float, type(None), BaseException)


def hide_payloads(record: logging.LogRecord) -> bool:
    """A filter of kazoo's logger, which lets every message pass."""
    if record.args and not isinstance(record.args, Mapping):
        record.args = tuple(each if isinstance(each, _SHOWN) else _named(each) for each in record.args)
    return True


def _named(hidden: Any) -> str:
    path = getattr(hidden, "path", None)
    kind = type(hidden).__name__
    return f"{kind} {path}" if isinstance(path, str) else kind
