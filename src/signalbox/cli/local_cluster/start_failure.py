"""The report of a cluster that did not start: the cause first, then the end of the node's log."""

from __future__ import annotations

import re

_CAUSE = re.compile(r"^\S+ (?:ERROR|CRITICAL)\s+(?:node=\S+ )?[\w.]+: (.*)$")
_NOT_STARTED = "not started: "  # below the faults of the configuration
_LAST_LINES = 12


def cause_first(failure: str) -> list[str]:
    """Lines to print: what failed, why, and the end of the log. `failure` is the text of ClusterFailed."""
    headline, *log = failure.splitlines()
    causes = [match[1] for line in log if (match := _CAUSE.match(line))]
    name = headline.partition(";")[0]
    if log and log[-1].startswith(_NOT_STARTED):
        return [f"{name}: {fault}" for fault in log[:-1]]
    if not causes:
        return [headline, *log]
    rest = log[-_LAST_LINES:]
    return [*(f"{name}: {cause}" for cause in dict.fromkeys(causes)), "the end of its log:", *rest]
