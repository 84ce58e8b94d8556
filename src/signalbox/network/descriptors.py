"""How many file descriptors are left: clients do not get the last of them.

A broker needs descriptors for its logs and its peers too, and a segment that cannot be opened costs it a log
directory. So the listeners of clients stop accepting while some are left (`ConnectionQuotas` asks): newcomers wait.
The kernel gives out the lowest free number, which tells without counting whether numbers below a mark are free:
strangers fill gaps below the mark, what lies above is for everything else.
"""

from __future__ import annotations

import logging
import os
import resource

from signalbox.common.limits import SPARE_DESCRIPTORS

log = logging.getLogger("signalbox.network.descriptors")


class Descriptors:
    """Of this process, within its limit (`ulimit -n`), which may change while it runs."""

    def __init__(self) -> None:
        self._were_scarce = False

    def scarce(self) -> bool:
        """Whether only the spare ones are left. Logged when that begins and when it ends."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = min(SPARE_DESCRIPTORS, limit // 4)
        scarce = limit != resource.RLIM_INFINITY and _lowest_free(limit) >= limit - spare
        if scarce is not self._were_scarce:
            self._were_scarce = scarce
            if scarce:
                log.warning(
                    "clients have to wait: of %d file descriptors the last %d are for logs and brokers. "
                    "Raise the limit (ulimit -n), or lower max.connections",
                    limit,
                    spare,
                )
            else:
                log.info("there are file descriptors for clients again")
        return scarce


def raise_limit() -> None:
    """Take as many descriptors as the system allows this process, as a JVM does at its start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _lowest_free(limit: int) -> int:
    """The number that the next descriptor gets; `limit` when there is none."""
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return limit
    os.close(descriptor)
    return descriptor
