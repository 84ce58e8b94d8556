"""How many file descriptors are left: nobody from outside gets the last of them.

A broker needs descriptors for its logs and for its peers. Clients that took them all would keep the peers out, and a
checkpoint that cannot be opened costs a broker its log directory. So the listeners of clients stop accepting while some
are left, those of brokers while a few are (`ConnectionQuotas` asks): newcomers wait in the kernel.
The kernel gives out the lowest free number, which tells without counting whether numbers below a mark are free:
strangers fill gaps below the mark, what lies above is for everything else.
"""

from __future__ import annotations

import logging
import os
import resource

from signalbox.common.limits import SPARE_DESCRIPTORS

_FOR_FILES = 4  # one in so many of the spare ones is not for brokers either

log = logging.getLogger("signalbox.network.descriptors")


class Descriptors:
    """Of this process, within its limit (`ulimit -n`), which may change while it runs."""

    def __init__(self) -> None:
        self._were_scarce = {"clients": False, "brokers": False}

    def scarce(self, for_brokers: bool) -> bool:
        """Whether only spare ones are left. Logged when that begins and when it ends."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = min(SPARE_DESCRIPTORS, limit // 4) // (_FOR_FILES if for_brokers else 1)
        scarce = limit != resource.RLIM_INFINITY and _lowest_free(limit) >= limit - spare
        who = "brokers" if for_brokers else "clients"
        if scarce is not self._were_scarce[who]:
            self._were_scarce[who] = scarce
            if scarce:
                log.warning(
                    "%s have to wait: the last %d of %d file descriptors are not for them. "
                    "Raise the limit (ulimit -n), or lower max.connections",
                    who,
                    spare,
                    limit,
                )
            else:
                log.info("there are file descriptors for %s again", who)
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
