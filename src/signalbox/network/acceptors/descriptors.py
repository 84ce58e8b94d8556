"""Reserves the last file descriptors: inbound connections do not get them.

A broker needs descriptors for its logs and for connections to other brokers. Clients that used all would lock brokers
out, and a checkpoint that cannot be opened takes a log directory offline. So listeners of clients stop accepting while
some descriptors are left, those of brokers while a few are left (see `ConnectionQuotas`): new connections wait in the
kernel. The kernel assigns the lowest free number, so one `open` shows, without counting, whether numbers below a mark
are free: connections use numbers below the mark, those above are reserved for everything else.
"""

from __future__ import annotations

import logging
import os
import resource

from signalbox.common.limits import SPARE_DESCRIPTORS

_FILE_SHARE = 4  # of the spare descriptors a quarter is not for brokers either

log = logging.getLogger("signalbox.network.acceptors.descriptors")


class Descriptors:
    """The descriptors of this process, within its limit (`ulimit -n`), which may change while it runs."""

    def __init__(self) -> None:
        self._were_scarce = {"clients": False, "brokers": False}

    def scarce(self, for_brokers: bool) -> bool:
        """Whether only spare descriptors are left. The beginning and the end of that state are logged."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = min(SPARE_DESCRIPTORS, limit // 4) // (_FILE_SHARE if for_brokers else 1)
        scarce = limit != resource.RLIM_INFINITY and _lowest_free(limit) >= limit - spare
        group = "brokers" if for_brokers else "clients"
        if scarce is not self._were_scarce[group]:
            self._were_scarce[group] = scarce
            if scarce:
                log.warning(
                    "Connections of %s wait: the last %d of %d file descriptors are reserved. Raise the limit "
                    "(ulimit -n), or lower max.connections",
                    group,
                    spare,
                    limit,
                )
            else:
                log.info("File descriptors are available for %s again", group)
        return scarce


def raise_limit() -> None:
    """Raise the limit of this process to the hard limit, as a JVM does at its start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _lowest_free(limit: int) -> int:
    """The number that the next descriptor gets; `limit` when none is free."""
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return limit
    os.close(descriptor)
    return descriptor
