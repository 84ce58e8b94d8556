"""Failures between this process and a broker, as exceptions whose text says what to check.

A failed *connection* alone does not mean that the caller's request failed: `retriable` says whether the same request
may be retried, at another node or later. Errors in a broker's response are in the same tree (`rejections.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signalbox.common.visible_text import one_line

if TYPE_CHECKING:
    from signalbox.client.connection.node import Address, Identity


_ADDRESS_CHARACTERS = 300  # a name in DNS has at most 253


def _shown(address: Address) -> str:
    """An address as a message has it: a peer may advertise anything as a host name."""
    return one_line(str(address), _ADDRESS_CHARACTERS)


class ClientFailure(Exception):
    """Base class of the exceptions of this package."""

    retriable = True


class ConnectFailed(ClientFailure):
    """No connection was established. `stage` is the stage reached: resolve, tcp, tls, api-versions, sasl."""

    def __init__(self, address: Address, stage: str, problem: str) -> None:
        super().__init__(f"could not connect to {_shown(address)} ({stage}): {one_line(problem)}")
        self.address = address
        self.stage = stage
        self.problem = problem


class ConnectionLost(ClientFailure):
    """The connection ended while a request was in flight; whether the broker executed the request is unknown.
    `closed_here`: this client closed it, because it starts over or the node has another address."""

    def __init__(self, address: Address, reason: str, *, closed_here: bool = False) -> None:
        super().__init__(f"connection to {_shown(address)} lost: {one_line(reason)}")
        self.address = address
        self.reason = reason
        self.closed_here = closed_here


class PeerBroke(ConnectFailed):
    """The peer violates the protocol: invalid bytes, a wrong length, an unexpected correlation id, unexpected TLS."""


class FurtherConnectionClosed(ConnectFailed):
    """The broker closed this connection at once, while it keeps others of this client: it is at a limit."""

    def __init__(self, address: Address, stage: str, problem: str, others: int) -> None:
        kept = "another connection" if others == 1 else f"{others} other connections"
        super().__init__(
            address,
            stage,
            f"{problem}, while it keeps {kept} of this client; the broker is probably at a limit of its connections "
            "(max.connections.per.ip, max.connections.per.ip.overrides, max.connections)",
        )


class AuthenticationRejected(ConnectFailed):
    """The peer rejected our credentials or the mechanism: a retry with the same ones cannot succeed."""

    retriable = False

    def __init__(self, address: Address, problem: str) -> None:
        super().__init__(address, "sasl", problem)


class Misrouted(ConnectFailed):
    """The node at the address is not the expected one (KIP-1242, error 129). Fatal for this connection only."""

    def __init__(self, address: Address, expected: Identity) -> None:
        super().__init__(
            address,
            "api-versions",
            f"wanted node {expected.node_id} of cluster {expected.cluster_id}, but another node answers there; "
            f"check where the address that node {expected.node_id} advertises leads (DNS, load balancer, port map)",
        )
        self.wanted = expected


class DeadlinePassed(ClientFailure):
    """The caller's deadline has passed. The `__cause__` is the last failure, if there was one."""

    retriable = False


class NoUsableNode(ClientFailure):
    """No known node is usable at the moment."""


class WrongCluster(ClientFailure):
    """Every address that responded belongs to another cluster than the pinned one (`signalbox.cluster.id.policy`)."""


class VersionUnsupported(ClientFailure):
    """The client and the peer have no version of an API in common, or the peer does not support the API at all."""

    retriable = False


class ChannelClosed(ClientFailure):
    """The channel, connection or client was closed by its owner."""

    retriable = False


class ConfigRejected(ClientFailure):
    """A client setting is invalid; the text lists every fault."""

    retriable = False


class NoCommittedOffset(ClientFailure):
    """A partition has no committed offset, and `auto.offset.reset` is none."""

    retriable = False


class TransactionFailed(ClientFailure):
    """A record of the transaction was not sent, or not acknowledged, in its time: the transaction can be aborted only.
    The `__cause__` is the failure of the record."""

    retriable = False


class TransactionAborted(ClientFailure):
    """The transaction was aborted before the record was sent, or by another task while a call waited."""

    retriable = False
