"""Hundreds of connections to a broker's client-facing ports, until it has no file descriptors for more of them."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from urllib.parse import urlsplit

from signalbox.testing.process_cluster import ProcessCluster
from tools.chaos.faults.injector import Act
from tools.chaos.plan import Kind

_LEFT = 200  # descriptors that the broker may have above those in use
_HOLD_AT_LEAST_S = 2.0  # several checkpoints of high watermarks


def descriptor_faults(cluster: ProcessCluster) -> Mapping[Kind, Act]:
    """The broker's limit is lowered to a little above what it uses; as many idle connections as the limit are opened to
    its metrics page, and as many to its client listener."""

    def exhaust(broker_id: int, hold_s: float) -> bool:
        broker = cluster.brokers[broker_id]
        assert broker.process is not None
        pid = broker.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        limit = len(os.listdir(f"/proc/{pid}/fd")) + _LEFT
        page = urlsplit(str(broker.ready["metrics"])).netloc
        with ExitStack() as stack:
            stack.callback(resource.prlimit, pid, resource.RLIMIT_NOFILE, limits)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limits[1]))
            for address in (page, str(broker.ready["bound"]["CLIENT"])):
                for _ in range(limit):
                    stack.enter_context(_connecting(address))
            time.sleep(max(hold_s, _HOLD_AT_LEAST_S))
        return False

    return {Kind.DESCRIPTORS: exhaust}


def _connecting(address: str) -> socket.socket:
    """A connection that may still be in the kernel's accept queue."""
    host, _, port = address.rpartition(":")
    sock = socket.socket()
    sock.setblocking(False)
    sock.connect_ex((host, int(port)))
    return sock
