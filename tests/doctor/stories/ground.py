"""The ground of the stories: two real clusters, every address of them a line of a switchboard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from signalbox.client.admin import AdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.compare import compare
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import Examination
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits
from signalbox.doctor.prober.examiner import examine
from signalbox.metadata.image import MetadataImage
from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import free_ports
from signalbox.testing.switchboard_line import Target
from signalbox.testing.switchboard_thread import SwitchboardThread

NODES = (1, 2, 3)
LIMITS = Limits(timeout_ms=60_000)
_PROTOCOLS = "CLIENT:PLAINTEXT,EXTERNAL:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"


class LinedCluster(Cluster):
    """Brokers that advertise lines on two listeners, CLIENT and EXTERNAL: the line "<prefix>c1" leads to CLIENT of
    broker 1, "<prefix>e1" to EXTERNAL. Brokers in `without_external` have CLIENT only."""

    def __init__(
        self, board: SwitchboardThread, prefix: str, brokers: int = 3, without_external: Iterable[int] = ()
    ) -> None:
        super().__init__(brokers=brokers)
        self._board = board
        self._prefix = prefix
        self._without = frozenset(without_external)
        self._ports = free_ports(2 * brokers)  # at once: brokers that start together could choose the same one
        self._prefixes: dict[int, str] = {}  # of brokers that have moved

    def start(self) -> None:
        super().start()
        for node_id in self.nodes:
            self._set_homes(node_id)

    def move(self, prefix: str) -> None:
        """Restarts the brokers one by one at other addresses, the lines of another prefix. Nothing listens at the old
        ones: they have moved to new hosts."""
        for node_id in sorted(self.nodes):
            old = [self._line(listener, node_id) for listener in self._client_listeners(node_id)]
            self.stop_broker(node_id)
            for line in old:
                self._board.refuse_connections(line)
            self._prefixes[node_id] = prefix
            self.start_broker(node_id)
            self._set_homes(node_id)
        ports = {node_id: self._board.line(self._line("CLIENT", node_id)).address[1] for node_id in self.nodes}

        def has_moved(image: MetadataImage) -> bool:
            found = {node_id: broker.endpoints["CLIENT"].port for node_id, broker in image.brokers.items()}
            return found == ports

        for node in self.nodes.values():
            assert self.run(node.components.cache.wait_until(has_moved, 60.0)), "the new addresses are in the Metadata"

    def _set_homes(self, node_id: int) -> None:
        bound = self.nodes[node_id].describe()["bound"]
        for listener in self._client_listeners(node_id):
            (target,) = parse_bootstrap_servers(bound[listener])
            self._board.set_home(self._line(listener, node_id), (target.host, target.port))

    def _line(self, listener: str, node_id: int) -> str:
        return f"{self._prefixes.get(node_id, self._prefix)}{listener[0].lower()}{node_id}"

    def _client_listeners(self, node_id: int) -> list[str]:
        return ["CLIENT"] if node_id in self._without else ["CLIENT", "EXTERNAL"]

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        listeners = self._client_listeners(node_id)
        replication, control = self._ports[2 * node_id - 2 : 2 * node_id]
        entries = [f"REPLICATION://127.0.0.1:{replication}", f"CONTROL://127.0.0.1:{control}"]
        bound = [*entries, *(f"{name}://127.0.0.1:0" for name in listeners)]
        for listener in listeners:
            host, port = self._board.add_line(self._line(listener, node_id))
            entries.append(f"{listener}://{host}:{port}")
        return {
            **super()._properties(node_id, folder),
            "listeners": ",".join(bound),
            "advertised.listeners": ",".join(entries),
            "listener.security.protocol.map": _PROTOCOLS,
        }


class Ground:
    """Cluster A has brokers 1 to 3 behind the lines ac1 to ac3 and ae1 to ae3; cluster B has broker 1 behind bc1. The
    lines p1 to p3 lead to the brokers of A too, for stories about proxies and load balancers."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.board = SwitchboardThread()
        self._created = 0

    def __enter__(self) -> Self:
        self._stack.enter_context(self.board)
        self.cluster = self._stack.enter_context(LinedCluster(self.board, "a"))
        self.other = self._stack.enter_context(LinedCluster(self.board, "b", brokers=1))
        for node_id in NODES:
            self.board.add_line(f"p{node_id}", self.home("ac", node_id))
        asyncio.run(self._create_topics())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def _create_topics(self) -> None:
        async with AdminClient(ClusterClient(ClientSettings.of(self.address("ac1")))) as admin:
            await admin.create_topic("orders", 6, 1)

    def address(self, *lines: str) -> str:
        """`host:port,...` of lines: a bootstrap entry."""
        return ",".join(f"{host}:{port}" for host, port in (self.board.line(name).address for name in lines))

    def target(self, line: str) -> Target:
        """The address of a line."""
        return self.board.line(line).address

    def home(self, prefix: str, node_id: int) -> Target:
        """Where a line leads: the bound address of a broker."""
        return self.board.line(f"{prefix}{node_id}").targets[0]

    def free_address(self) -> Target:
        """A line at whose port nothing listens until it is restored."""
        self._created += 1
        name = f"free{self._created}"
        address = self.board.add_line(name)
        self.board.refuse_connections(name)
        return address

    def restore(self) -> None:
        """Every line leads home again."""
        self.board.restore()


def examine_entries(
    *entries: str, configs: Mapping[int, Mapping[str, str]] | None = None, limits: Limits = LIMITS
) -> Examination:
    """A run of the doctor; `configs` are client properties by the position of an entry."""
    configs = configs or {}
    listeners = [ExaminedListener.of(entry, configs.get(index, {}), limits) for index, entry in enumerate(entries)]
    return asyncio.run(examine(listeners, limits))


def findings_of(examination: Examination, before: Examination | None = None) -> list[Finding]:
    """What the doctor reports, with the changes since `before`."""
    return find(examination) + (compare(before, examination) if before is not None else [])
