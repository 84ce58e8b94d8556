"""A whole cluster inside this process: real sockets, a real metadata file, real logs, one event loop in one thread.

For test suites that need a real broker and not a mock: three brokers are up and accept acks=all within a third of a
second. Works from ordinary (synchronous) code; clients of any kind connect to `bootstrap_servers`.

    with Cluster(brokers=3) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.configuration import read_node_config
from signalbox.transport.node_event_loop import NodeEventLoop
from signalbox.wiring.broker_node import broker_node
from signalbox.wiring.broker_node_components import BrokerNodeComponents
from signalbox.wiring.node import Node

T = TypeVar("T")
_STOP_TIMEOUT_S = 30.0

# Production settings that only cost time in tests: a new group waits for no further members, few offsets partitions.
TEST_DEFAULTS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "controlled.shutdown.enable": "false",
    "signalbox.metrics.http.port": "-1",
    "signalbox.advertised.check": "off",
}

_ANY_PORTS = "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0"


class Cluster:
    """`folder` keeps data between clusters; without one a temporary folder is used and removed. `overrides` are
    server.properties keys for all brokers, `per_broker` for one, by its id."""

    def __init__(
        self,
        brokers: int = 3,
        folder: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        per_broker: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        self._count = brokers
        self._given_folder = folder
        self._overrides = dict(overrides or {})
        self._per_broker = dict(per_broker or {})
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.nodes: dict[int, Node[BrokerNodeComponents]] = {}
        self._listeners: dict[int, str] = {}  # of brokers that have run: a restarted broker keeps its addresses

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when every broker is ready and has all others in its metadata."""
        self._loop = NodeEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="signalbox-cluster", daemon=True)
        self._thread.start()
        if self._given_folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="signalbox-")
        try:
            self.run(self._start(Path(self._temporary.name) if self._temporary else self._folder()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops all brokers and deletes the temporary folder."""
        if self._loop is not None and self._thread is not None:
            try:
                self.run(self._stop())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(_STOP_TIMEOUT_S)
                self._loop.close()
                self._loop = self._thread = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,...` of all brokers on the CLIENT listener."""
        return ",".join(str(node.describe()["listeners"]["CLIENT"]) for node in self.nodes.values())

    def stop_broker(self, node_id: int) -> None:
        """Stops one broker at once, without a controlled shutdown."""
        self.run(self.nodes.pop(node_id).stop(controlled=False))

    def start_broker(self, node_id: int) -> None:
        """Starts a broker (again), with its data, at its addresses. Returns when all brokers know of it."""
        folder = Path(self._temporary.name) if self._temporary else self._folder()
        self.run(self._start_one(node_id, folder))
        self.run(self._await_in_metadata(node_id))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine in the cluster's event loop."""
        if self._loop is None:
            work.close()
            raise RuntimeError("the cluster is not started")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _folder(self) -> Path:
        assert self._given_folder is not None
        self._given_folder.mkdir(parents=True, exist_ok=True)
        return self._given_folder

    async def _start(self, folder: Path) -> None:
        starting = (self._start_one(node_id, folder) for node_id in range(1, self._count + 1))
        for result in await asyncio.gather(*starting, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        for node in self.nodes.values():
            await node.components.cache.wait_until(lambda image: len(image.brokers) == self._count, _STOP_TIMEOUT_S)

    async def _await_in_metadata(self, node_id: int) -> None:
        for node in self.nodes.values():
            await node.components.cache.wait_until(lambda image: node_id in image.brokers, _STOP_TIMEOUT_S)

    async def _start_one(self, node_id: int, folder: Path) -> None:
        values = {**TEST_DEFAULTS, **self._properties(node_id, folder), **self._overrides}
        values |= self._per_broker.get(node_id, {})
        config, faults = read_node_config(Properties(f"broker {node_id}", values))
        if config is None:
            raise ValueError("\n".join(map(str, faults)))
        node = broker_node(config)
        try:
            await node.start()
        except BaseException:
            await node.stop(controlled=False)
            raise
        self.nodes[node_id] = node
        if "listeners" not in self._overrides:
            bound = node.describe()["bound"]
            self._listeners[node_id] = ",".join(f"{name}://{address}" for name, address in bound.items())

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        replicas = str(min(3, self._count))
        return {
            "node.id": str(node_id),
            "listeners": self._listeners.get(node_id, _ANY_PORTS),
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
            "inter.broker.listener.name": "REPLICATION",
            "control.plane.listener.name": "CONTROL",
            "control.plane.force.controller.requests.enable": "true",
            "signalbox.metadata.store": f"sqlite:{folder / 'metadata.db'}",
            "log.dirs": str(folder / f"broker-{node_id}"),
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1" if replicas == "1" else "2",
            "signalbox.audit.topic.replication.factor": replicas,
        }

    async def _stop(self) -> None:
        await asyncio.gather(*(node.stop(controlled=False) for node in self.nodes.values()))
        self.nodes.clear()
