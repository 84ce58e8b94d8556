"""What can go wrong between this process and a broker, as exceptions that say what to look at.

A failure of a *connection* is never by itself a failure of the caller's request: `retriable` says whether the same
request may be tried again, elsewhere or later. Errors that a broker answered travel as `KafkaError` instead.
"""

from __future__ import annotations

from signalbox.client.node import Address, Identity


class ClientFailure(Exception):
    """Base of everything this room raises on its own account."""

    retriable = True


class ConnectFailed(ClientFailure):
    """No connection came about. `stage` is how far it got: resolve, tcp, tls, api-versions, sasl."""

    def __init__(self, address: Address, stage: str, problem: str) -> None:
        super().__init__(f"could not connect to {address} ({stage}): {problem}")
        self.address = address
        self.stage = stage
        self.problem = problem


class ConnectionLost(ClientFailure):
    """The connection ended while a request was on it; whether the broker acted on the request is unknown."""

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"connection to {address} lost: {reason}")
        self.address = address
        self.reason = reason


class PeerBroke(ConnectFailed):
    """The peer does not speak the protocol: garbage, a lying length, a foreign correlation id, unexpected TLS."""


class AuthenticationRefused(ConnectFailed):
    """The peer refused our credentials, or the mechanism: trying again with the same ones is useless."""

    retriable = False

    def __init__(self, address: Address, problem: str) -> None:
        super().__init__(address, "sasl", problem)


class Misrouted(ConnectFailed):
    """Who answers at the address is not the node we wanted (KIP-1242, error 129). Fatal for the connection alone."""

    def __init__(self, address: Address, wanted: Identity) -> None:
        super().__init__(
            address,
            "api-versions",
            f"wanted node {wanted.node_id} of cluster {wanted.cluster_id}, but somebody else answers there; "
            f"check where the address that node {wanted.node_id} advertises leads (DNS, load balancer, port map)",
        )
        self.wanted = wanted


class DeadlinePassed(ClientFailure):
    """The caller's time is up. The last failure, when there was one, is the `__cause__`."""

    retriable = False


class NoUsableNode(ClientFailure):
    """No known node can be asked at the moment."""


class WrongCluster(ClientFailure):
    """Every address that answered belongs to another cluster than the pinned one (`cluster.id.policy`)."""


class VersionUnsupported(ClientFailure):
    """We and the peer have no version of an API in common, or the peer does not have the API at all."""

    retriable = False


class ChannelClosed(ClientFailure):
    """The channel, connection or client was closed by its owner."""

    retriable = False


class ConfigRefused(ClientFailure):
    """A client setting is wrong; the text has every fault."""

    retriable = False
