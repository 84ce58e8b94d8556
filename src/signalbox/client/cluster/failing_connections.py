"""Which connections of a client fail again and again, and whether the broker is at a limit of connections.

A broker at such a limit accepts a new connection and closes it before the first response, while it keeps those that it
has. Only the client can say so: the broker sends nothing, and a caller that retries sees no error.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from signalbox.client.connection.node import ConnectionKey
from signalbox.client.failures import ConnectFailed, ConnectionLost, FurtherConnectionClosed
from signalbox.transport.tls.tls_failure import ENDED_EARLY

log = logging.getLogger("signalbox.client")

_STILL_WANTED_S = 5.0  # an attempt this long ago: nothing needs the connection any more


@dataclass(slots=True)
class _Attempts:
    since: float
    last: float
    failure: ConnectFailed
    count: int = 1


class FailingConnections:
    """The attempts since the last connection, by node and purpose. Times are the loop's, in seconds."""

    def __init__(self) -> None:
        self._attempts: dict[ConnectionKey, _Attempts] = {}

    def failed(self, key: ConnectionKey, failure: ConnectFailed, now: float) -> None:
        """One more attempt failed. A limit of the broker is logged once: the second time, since a broker that stops
        may close a connection once."""
        attempts = self._attempts.get(key)
        if attempts is None or now - attempts.last > _STILL_WANTED_S:
            self._attempts[key] = _Attempts(now, now, failure)
            return
        attempts.last, attempts.failure = now, failure
        attempts.count += 1
        if attempts.count == 2 and isinstance(failure, FurtherConnectionClosed):
            log.warning("Further connection closed (node=%d, purpose=%s): %s", key.node_id, key.purpose, failure)

    def succeeded(self, key: ConnectionKey) -> None:
        self._attempts.pop(key, None)

    def drop_node(self, node_id: int) -> None:
        """The node has another address, or is not used any more."""
        for key in [key for key in self._attempts if key.node_id == node_id]:
            del self._attempts[key]

    def lasting(self, now: float, for_s: float) -> list[ConnectFailed]:
        """The last failure of each connection that is still wanted, and fails for `for_s` or longer."""
        return [
            row.failure
            for row in self._attempts.values()
            if now - row.since >= for_s and now - row.last <= _STILL_WANTED_S
        ]


def at_limit(failure: ConnectFailed, others: int) -> ConnectFailed:
    """The failure as FurtherConnectionClosed, if the broker closed this connection before it responded although it
    keeps `others` of the same client; else the failure as it is."""
    closed = type(failure) is ConnectFailed and (
        isinstance(failure.__cause__, ConnectionLost) or (failure.stage == "tls" and ENDED_EARLY in failure.problem)
    )
    if not others or not closed:
        return failure
    return FurtherConnectionClosed(failure.address, failure.stage, failure.problem, others)
