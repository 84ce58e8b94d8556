"""Commits that another commit can make invalid, and their repetition: a table's maintenance may commit at any time.

A merge and a compaction read files that the other one replaces; delta-rs then rejects the later of the two with
CommitFailedError, and nothing of it is in the table. Its overwrite is different: it removes the files that it knows and
would be committed beside those of a compaction in between, which doubles the rows. `ALONE` has delta-rs reject that as
well: any commit since the table was opened is a conflict.

A repetition opens the table again, so what is repeated must not depend on the table as it was before.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from deltalake import CommitProperties
from deltalake.exceptions import CommitFailedError

P = ParamSpec("P")
R = TypeVar("R")

MAX_ATTEMPTS = 5
_log = logging.getLogger(__name__)
ALONE = CommitProperties(max_commit_retries=0)


def repeat_conflicts(commit: Callable[[], R]) -> R:
    """Calls `commit` until it does not conflict with another commit. Raises the last CommitFailedError after
    MAX_ATTEMPTS."""
    attempt = 1
    while True:
        try:
            return commit()
        except CommitFailedError as conflict:
            if attempt == MAX_ATTEMPTS:
                raise
            _log.info("Commit conflicts with another one (attempt=%d): it is repeated: %s", attempt, conflict)
        attempt += 1


def repeated_on_conflict(commit: Callable[P, R]) -> Callable[P, R]:
    """The function, called again if its commit conflicts with another one."""

    @functools.wraps(commit)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> R:
        return repeat_conflicts(lambda: commit(*args, **kwargs))

    return repeated
