"""Nodes that are not the ones they should be, as seen on the wire (KIP-1242). With TLS they cut open
connections, as faults of requests do.

With `client_id` the fault is for this client only, with `listener` at this listener's addresses only. A broker has one
fault of a kind at a time, also if the two were for different clients or listeners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.testing.faults.fault import Readers, Undo, claims_of_node, key_of, lines_of, readers_of
from signalbox.testing.faults.field_checks import check_node, check_nodes, check_number, check_shown_addresses
from signalbox.testing.switchboard_line import Target
from signalbox.testing.switchboard_rewrite import WireRewrite
from signalbox.testing.wire.request_rule import PresentedIdentity, VersionLimit

if TYPE_CHECKING:
    from signalbox.testing.switchboard import Switchboard

_IDENTITY, _REWRITE = "identity", "changed responses"


@dataclass(frozen=True, slots=True)
class WrongNode:
    """At the addresses of the broker `node` is the node `is_node` of the same cluster: ApiVersions with another node id
    gets REBOOTSTRAP_REQUIRED. Everything else is as before."""

    node: int
    is_node: int
    client_id: str | None = None
    listener: str | None = None

    def __post_init__(self) -> None:
        check_node("is_node", self.is_node)

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, _IDENTITY)

    async def apply(self, board: Switchboard) -> Undo:
        return _present(board, self, PresentedIdentity(node_id=self.is_node, client_id=self.client_id))


@dataclass(frozen=True, slots=True)
class WrongCluster:
    """The broker belongs to the cluster `cluster_id`: Metadata and DescribeCluster have that id, and ApiVersions with
    another one gets REBOOTSTRAP_REQUIRED. Connections that are open stay open unless `cut`."""

    node: int
    cluster_id: str
    cut: bool = True
    client_id: str | None = None
    listener: str | None = None

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, _IDENTITY) | claims_of_node(self.node, _REWRITE)

    async def apply(self, board: Switchboard) -> Undo:
        undo_identity = _present(board, self, PresentedIdentity(cluster_id=self.cluster_id, client_id=self.client_id))
        rewrite = WireRewrite(cluster_id=self.cluster_id, client_id=self.client_id)
        undo_rewrite = _rewrite(board, [self.node], self.listener, rewrite)
        if self.cut:
            for line in lines_of(board, self.node, self.listener):
                line.sever()

        async def undo() -> None:
            await undo_identity()
            await undo_rewrite()

        return undo


@dataclass(frozen=True, slots=True)
class CapApiVersions:
    """ApiVersions of the broker goes up to `version` (3 or 4) only, as through a proxy that is older than KIP-1242."""

    node: int
    version: int = 4
    client_id: str | None = None
    listener: str | None = None

    def __post_init__(self) -> None:
        check_number("version", self.version, 3, 4)

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, _REWRITE)

    async def apply(self, board: Switchboard) -> Undo:
        rewrite = WireRewrite(api_versions_max=self.version, client_id=self.client_id)
        return _rewrite(board, [self.node], self.listener, rewrite)


@dataclass(frozen=True, slots=True)
class CapVersions:
    """The broker serves an API up to version `highest` and from `lowest` on, as an older or newer release does: that is
    what its ApiVersions says, and a request of another version ends the connection. With `highest` -1 it does not know
    the API. Open connections are cut, so that clients ask for the versions again."""

    node: int
    api: str
    highest: int
    lowest: int = 0
    client_id: str | None = None
    listener: str | None = None

    def __post_init__(self) -> None:
        key = key_of(self.api)
        if key == ApiKey.API_VERSIONS:
            raise ValueError("versions of ApiVersions are limited by CapApiVersions")
        newest = API_TABLE[key].max_version
        check_number("highest", self.highest, -1, newest)
        check_number("lowest", self.lowest, 0, newest if self.highest < 0 else self.highest)

    def claims(self) -> frozenset[str]:
        return claims_of_node(self.node, f"versions of {self.api}")

    async def apply(self, board: Switchboard) -> Undo:
        key, lines = key_of(self.api), lines_of(board, self.node, self.listener)
        readers = Readers(lines)
        for each in readers.rules:
            each.versions[key] = VersionLimit(self.lowest, self.highest, self.client_id)
        for line in lines:
            line.sever()

        async def undo() -> None:
            for each in readers.rules:
                del each.versions[key]
            readers.release()
            for line in lines:
                line.sever()

        return undo


@dataclass(frozen=True, slots=True)
class RewriteMetadata:
    """The brokers `nodes` answer Metadata, DescribeCluster and FindCoordinator with `addresses` (by node id) in place
    of the advertised ones, and without the nodes of `hidden`, whose partitions have LISTENER_NOT_FOUND."""

    nodes: Sequence[int]
    addresses: Mapping[int, Target] = field(default_factory=dict)
    hidden: Sequence[int] = ()
    client_id: str | None = None
    listener: str | None = None

    def __post_init__(self) -> None:
        check_nodes("nodes", self.nodes)
        check_shown_addresses("addresses", self.addresses)
        for node_id in self.hidden:
            check_node("hidden", node_id)
        if not self.addresses and not self.hidden:
            raise ValueError("nothing is rewritten: give addresses or hidden")

    def claims(self) -> frozenset[str]:
        return frozenset().union(*(claims_of_node(node, _REWRITE) for node in self.nodes))

    async def apply(self, board: Switchboard) -> Undo:
        hidden = frozenset(self.hidden)
        rewrite = WireRewrite(addresses=self.addresses, hidden=hidden, client_id=self.client_id)
        return _rewrite(board, self.nodes, self.listener, rewrite)


def _present(board: Switchboard, fault: WrongNode | WrongCluster, identity: PresentedIdentity) -> Undo:
    readers = readers_of(board, fault.node, fault.listener)
    for rules in readers.rules:
        rules.identity = identity

    async def undo() -> None:
        for rules in readers.rules:
            rules.identity = None
        readers.release()

    return undo


def _rewrite(board: Switchboard, nodes: Sequence[int], listener: str | None, rewrite: WireRewrite) -> Undo:
    lines = [line for node in nodes for line in lines_of(board, node, listener)]
    readers = Readers(lines)
    for line in lines:
        line.rewrite = rewrite

    async def undo() -> None:
        for line in lines:
            line.rewrite = None
        readers.release()

    return undo
