"""A real cluster of broker processes on this host over the embedded store: for `signalbox up`, the demo, system tests.

Every broker has a folder (`broker-<id>`: its server.properties, its log and its data); all share `metadata.db`. With
dedicated controllers (`controller-<id>`, ids from 101 on) only these can become the controller (F15). A
process is ended only by its own handle. `kill`, `pause` and `resume` are real signals.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import IO, Any, ClassVar, Self

from signalbox.common.config.properties_file import properties_text
from signalbox.configuration.config_file import ConfigFileError, read_config_file
from signalbox.testing.broker_logins import BrokerLogins, speaks_securely
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.generated_file import is_kept, write_generated
from signalbox.testing.known_brokers import brokers_not_known
from signalbox.testing.locked_file import lock_file, node_locks, open_private
from signalbox.testing.node_process import NodeProcess, StartNode, run_to_the_end, start_interpreter
from signalbox.testing.running_nodes import already_run, running_nodes

FIRST_CONTROLLER_ID = 101
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0


class ClusterFailed(RuntimeError):
    """A broker did not start, or ended unexpectedly; the message holds the end of its log."""


@dataclass
class BrokerProcess:
    """One broker or controller: its folder, its process while it runs, and the values that it reported when ready."""

    node_id: int
    folder: Path
    process: NodeProcess | None = None
    ready: dict[str, Any] = field(default_factory=dict)
    stopped_by_signal: bool = False

    @property
    def name(self) -> str:
        """Its role, with its id."""
        return f"{'broker' if self.node_id < FIRST_CONTROLLER_ID else 'controller'} {self.node_id}"

    @property
    def properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log_file(self) -> Path:
        return self.folder / "broker.log"

    @property
    def lock_files(self) -> tuple[Path, ...]:
        """The files that are locked while the node runs."""
        return node_locks(self.folder)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def address(self, listener: str) -> str:
        """`host:port` of one of its listeners, as advertised."""
        return str(self.ready["listeners"][listener])

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])


class ProcessCluster:
    """Brokers 1..n and `controllers` dedicated ones. `overrides` go into every server.properties, `per_broker` only
    into that node's; ports start at `first_port` (three per broker, then one per controller), 0 takes free ones.
    Listeners of `overrides` with port 0 get a port from the system, and keep it when the node is started again. A node
    is Python's `-m module server.properties`. `secured`: brokers log in to each other (`broker_logins.py`), unless an
    edited server.properties configures it otherwise."""

    start_node: ClassVar[StartNode] = staticmethod(start_interpreter)

    def __init__(
        self,
        folder: Path,
        brokers: int = 3,
        *,
        first_port: int = 0,
        overrides: Mapping[str, str] | None = None,
        per_broker: Mapping[int, Mapping[str, str]] | None = None,
        module: str = "signalbox.wiring.serve",
        controllers: int = 0,
        secured: bool = False,
    ) -> None:
        self.folder = folder
        self.secured = secured
        self._logins = BrokerLogins(folder)
        self._module = module
        self._first_port = first_port or consecutive_ports(3 * brokers + controllers, Random())
        self._overrides = dict(overrides or {})
        self._per_broker = {node_id: dict(values) for node_id, values in (per_broker or {}).items()}
        self.brokers = {
            node_id: BrokerProcess(node_id, folder / f"broker-{node_id}") for node_id in range(1, brokers + 1)
        }
        self.controllers = {
            node_id: BrokerProcess(node_id, folder / f"controller-{node_id}")
            for node_id in range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + controllers)
        }
        self.nodes = self.controllers | self.brokers
        self.more_listeners: dict[str, str] = {}  # security protocols of listeners that `configure` adds, by name

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts all brokers and waits until each is ready and knows the others. Otherwise ClusterFailed, with the end
        of the log."""
        self.write_files()
        try:
            streams = {node_id: self._spawn(broker) for node_id, broker in self.nodes.items()}
            for node_id, stream in streams.items():
                self._await_ready(self.nodes[node_id], stream)
            self._await_each_other()
        except BaseException:  # Ctrl-C too: the brokers are in sessions of their own and would keep running
            self.stop(graceful=False)
            raise

    def write_files(self) -> list[Path]:
        """Writes every server.properties, as `start` does too; returns the files that were edited by hand, which are
        kept. ClusterFailed, and nothing is written, if a node of the folder runs, an edited file cannot be read, or the
        folder cannot be written."""
        if running := running_nodes({node.name: node.lock_files for node in self.nodes.values()}):
            raise ClusterFailed(already_run(self.folder, running))
        try:
            if self.secured:
                self.secured = not self._kept_in_the_open()
        except OSError as error:
            raise ClusterFailed(f"{error.filename} cannot be read: {error.strerror}") from error
        except ConfigFileError as error:
            raise ClusterFailed(f"{error}; or delete the file to have it generated again") from error
        return [node.properties_file for node in self.nodes.values() if not self._write_properties(node)]

    def _kept_in_the_open(self) -> bool:
        """True if an edited server.properties has brokers that do not log in: then no broker must log in."""
        for node in self.nodes.values():
            texts = self._texts(node)
            file = node.properties_file
            if is_kept(file, *texts) and not speaks_securely(read_config_file(file).values):
                return True
        return False

    def bootstrap(self, listener: str = "CLIENT") -> str:
        """`host:port,...` of all running brokers that have the listener."""
        running = [broker for broker in self.brokers.values() if broker.running]
        return ",".join(broker.address(listener) for broker in running if listener in broker.ready["listeners"])

    def start_broker(self, node_id: int) -> None:
        """Starts one broker (again) and waits until it is ready."""
        self.start_brokers([node_id])

    def start_brokers(self, node_ids: Iterable[int]) -> None:
        """Starts several at once and waits until all are ready."""
        brokers = [self.nodes[node_id] for node_id in node_ids]
        for broker in brokers:
            self._write_properties(broker)
        streams = [self._spawn(broker) for broker in brokers]
        for broker, stream in zip(brokers, streams, strict=True):
            self._await_ready(broker, stream)

    def configure(self, node_id: int, values: Mapping[str, str]) -> None:
        """Changes the server.properties of one broker, from its next start on; other keys stay."""
        self._per_broker.setdefault(node_id, {}).update(values)

    def stop_broker(self, node_id: int) -> int:
        """Controlled shutdown of one broker; its exit code."""
        broker = self.nodes[node_id]
        return self._end(broker, signal.SIGTERM)

    def kill(self, node_id: int) -> None:
        """SIGKILL: the broker ends without a controlled shutdown."""
        self._end(self.nodes[node_id], signal.SIGKILL)

    def kill_at_once(self, node_ids: Iterable[int]) -> None:
        """SIGKILL for several in this order, before any of the others can notice."""
        nodes = [self.nodes[node_id] for node_id in node_ids]
        for node in nodes:
            if node.process is not None:
                node.process.send_signal(signal.SIGKILL)
        for node in nodes:
            self._end(node, signal.SIGKILL)

    def pause(self, node_id: int) -> None:
        """SIGSTOP: the broker is there and silent. Returns when its process has stopped: the signal takes a moment, in
        which a commit would end."""
        self._signal(node_id, signal.SIGSTOP)
        self.nodes[node_id].stopped_by_signal = True
        process = self.nodes[node_id].process
        if process is not None:
            process.wait_stopped()

    def resume(self, node_id: int) -> None:
        """SIGCONT after `pause`."""
        self._signal(node_id, signal.SIGCONT)
        self.nodes[node_id].stopped_by_signal = False

    def stop(self, graceful: bool = True) -> None:
        """Stops every broker that still runs: signals all at once, kills those that exceed the time limit."""
        for broker in self.nodes.values():
            if broker.running and broker.stopped_by_signal:
                self.resume(broker.node_id)
        running = [broker for broker in self.brokers.values() if broker.running]
        self._end_all(running, graceful)
        # Controllers are stopped after the brokers: they move leadership away while brokers stop.
        self._end_all([each for each in self.controllers.values() if each.running], graceful)

    def _end_all(self, running: list[BrokerProcess], graceful: bool) -> None:
        for broker in running:
            assert broker.process is not None
            broker.process.send_signal(signal.SIGTERM if graceful else signal.SIGKILL)
        for broker in running:
            assert broker.process is not None
            try:
                broker.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                broker.process.kill()
                broker.process.wait()

    def _end(self, broker: BrokerProcess, number: signal.Signals) -> int:
        if broker.process is None:
            return 0
        if broker.running:
            if broker.stopped_by_signal and number is not signal.SIGKILL:
                self.resume(broker.node_id)
            broker.process.send_signal(number)
        broker.stopped_by_signal = False
        return broker.process.wait(STOP_TIMEOUT_S)

    def _signal(self, node_id: int, number: signal.Signals) -> None:
        process = self.nodes[node_id].process
        if process is None or process.poll() is not None:
            raise ClusterFailed(f"{self.nodes[node_id].name} does not run")
        process.send_signal(number)

    def _properties(self, broker: BrokerProcess, secured: bool = False) -> dict[str, str]:
        properties = self._of_controller(broker) if broker.node_id in self.controllers else self._of_broker(broker)
        if secured:
            properties = self._logins.properties(properties)
        properties |= {**self._overrides, **self._per_broker.get(broker.node_id, {})}
        for key in ("listeners", "advertised.listeners"):
            if key in properties:
                properties[key] = _with_ports(properties[key], broker.ready.get("bound", {}))
        return properties

    def _of_controller(self, controller: BrokerProcess) -> dict[str, str]:
        port = self._first_port + 3 * len(self.brokers) + controller.node_id - FIRST_CONTROLLER_ID
        return {
            "process.roles": "controller",
            "listeners": f"CONTROLLER://127.0.0.1:{port}",
            **self._of_all(controller),
        }

    def _of_all(self, node: BrokerProcess) -> dict[str, str]:
        replicas = str(min(3, len(self.brokers)))
        protocols = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"
        protocols += "".join(f",{name}:{protocol}" for name, protocol in self.more_listeners.items())
        dedicated = {"controller.listener.names": "CONTROLLER"} if self.controllers else {}
        return {
            "node.id": str(node.node_id),
            "listener.security.protocol.map": protocols + (",CONTROLLER:PLAINTEXT" if self.controllers else ""),
            "inter.broker.listener.name": "REPLICATION",
            **dedicated,
            "signalbox.metadata.store": f"sqlite:{self.folder / 'metadata.db'}",
            "signalbox.metrics.http.port": "0",
            "signalbox.advertised.check": "off",  # tests count connections and events
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1" if replicas == "1" else "2",
            "signalbox.audit.topic.replication.factor": replicas,
        }

    def _of_broker(self, broker: BrokerProcess) -> dict[str, str]:
        port = self._first_port + 3 * (broker.node_id - 1)
        return {
            "listeners": f"CLIENT://127.0.0.1:{port},REPLICATION://127.0.0.1:{port + 1},CONTROL://127.0.0.1:{port + 2}",
            "control.plane.listener.name": "CONTROL",
            "control.plane.force.controller.requests.enable": "true",
            "log.dirs": str(broker.folder / "data"),
            # All of them often stop at once: the last one would wait for a new leader that does not exist.
            "controlled.shutdown.retry.backoff.ms": "500",
            **({"process.roles": "broker"} if self.controllers else {}),
            **self._of_all(broker),
        }

    def _write_properties(self, broker: BrokerProcess) -> bool:
        """False if the file was edited by hand and is kept."""
        try:
            broker.folder.mkdir(parents=True, exist_ok=True)
            if self.secured:
                self._logins.write()
            return write_generated(broker.properties_file, *self._texts(broker))
        except OSError as error:
            raise ClusterFailed(f"{error.filename} cannot be written: {error.strerror}") from error

    def _texts(self, broker: BrokerProcess) -> list[str]:
        """The text of server.properties, and the texts of older versions, in which brokers did not log in."""
        wanted = (True, False) if self.secured else (False,)
        return [properties_text(self._properties(broker, secured)) for secured in wanted]

    def _spawn(self, broker: BrokerProcess) -> IO[bytes]:
        """Starts the node. It inherits its log with the lock, and holds that until it ends, in whatever way: a
        controller has no data directory whose lock could show that it runs. ClusterFailed."""
        try:
            with open(broker.log_file, "ab", opener=open_private) as log:
                lock_file(log)
                run_to_the_end(partial(self._start_process, broker, log))
        except BlockingIOError:
            raise ClusterFailed(already_run(self.folder, {broker.name: broker.lock_files})) from None
        except OSError as error:
            raise ClusterFailed(f"{broker.name} cannot be started: {error}") from error
        assert broker.process is not None
        assert broker.process.stdout is not None
        return broker.process.stdout

    def _start_process(self, broker: BrokerProcess, log: IO[bytes]) -> None:
        broker.process = self.start_node([self._module, str(broker.properties_file)], log)

    def _await_each_other(self) -> None:
        pages = {node_id: str(broker.ready["metrics"]) for node_id, broker in self.brokers.items()}
        node_ids = {int(broker.ready["node_id"]) for broker in self.brokers.values()}  # an edited file may have another
        lacking = brokers_not_known(pages, node_ids, lambda node_id: self.brokers[node_id].running, READY_TIMEOUT_S)
        for node_id, missing in lacking.items():
            broker = self.brokers[node_id]
            what = f"does not know brokers {missing} after {READY_TIMEOUT_S:.0f} s" if broker.running else "ended"
            raise ClusterFailed(f"{broker.name} {what}; the end of its log:\n{broker.tail()}")

    def _await_ready(self, broker: BrokerProcess, stream: IO[bytes]) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        line = b""
        output = select.poll()  # `select.select` ends at descriptor 1,023
        output.register(stream, select.POLLIN)
        while not line.endswith(b"\n"):
            readable = output.poll(max(0.0, deadline - time.monotonic()) * 1000)
            piece = os.read(stream.fileno(), 65_536) if readable else b""
            if not piece:
                what = "ended" if readable else f"was not ready after {READY_TIMEOUT_S:.0f} s"
                raise ClusterFailed(f"{broker.name} {what}; the end of its log:\n{broker.tail()}")
            line += piece
        broker.ready = json.loads(line.splitlines()[-1])


def _with_ports(listeners: str, bound: Mapping[str, str]) -> str:
    """`listeners` with each port 0 replaced by the listener's port of the broker's previous run."""
    entries = []
    for entry in listeners.split(","):
        name, _, address = entry.partition("://")
        host, _, port = address.rpartition(":")
        if port == "0" and name.strip() in bound:
            port = bound[name.strip()].rpartition(":")[2]
        entries.append(f"{name}://{host}:{port}")
    return ",".join(entries)
