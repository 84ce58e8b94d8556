"""Three combined KRaft nodes of Apache Kafka 4.4.0, resolved by Maven coordinates (`pom.xml`), 512 MB of heap each."""

from __future__ import annotations

import hashlib
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.system.provision import command

from bench.kafka import quorum
from bench.kafka.sides import RETENTION, Side
from signalbox.testing.free_ports import free_ports

_POM = Path(__file__).parent / "pom.xml"
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_STOP_S = 30.0
_PROPERTIES = """process.roles=broker,controller
node.id={node_id}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions=1
auto.create.topics.enable=false
"""


def server_properties(
    folder: Path, node_id: int, port: int, controller_ports: Sequence[int], settings: Mapping[str, str]
) -> str:
    """The content of one node's file; `settings` are keys beside those that both sides have."""
    voters = ",".join(f"{voter}@127.0.0.1:{at}" for voter, at in enumerate(controller_ports, 1))
    values = {"node_id": node_id, "voters": voters, "port": port, "controller_port": controller_ports[node_id - 1]}
    own = "".join(f"{key}={value}\n" for key, value in {**RETENTION, **settings}.items())
    return _PROPERTIES.format(folder=folder, **values) + own


def libraries(pom: Path = _POM) -> Path:
    """The folder with Kafka's jars, fetched once per content of the pom."""
    folder = Path("build/bench") / f"kafka-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder.resolve()}"]
        subprocess.run([command("mvn"), "-q", "-B", "-f", str(pom), *goal], check=True, timeout=900)
        (folder / "complete").touch()
    return folder


class ApacheKafka(Side):
    """`prepare` formats the storage; only `launch` is measured."""

    name = "Apache Kafka 4.4.0"
    compiles_at_run_time = True

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._settings = dict(settings or {})
        self._folder = folder
        self._class_path = f"{libraries().resolve()}/*"
        self._ports, self._controller_ports = free_ports(3), free_ports(3)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def prepare(self) -> None:
        java = [command("java"), "-cp", self._class_path, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID]
        formats = []
        for node_id, port in enumerate(self._ports, 1):
            folder = self._folder / f"kafka-{node_id}"
            folder.mkdir(parents=True)
            text = server_properties(folder, node_id, port, self._controller_ports, self._settings)
            (folder / "server.properties").write_text(text)
            run = [*java, "-c", str(folder / "server.properties")]
            formats.append(subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for process in formats:
            output, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"the storage was not formatted: {output}")

    def launch(self) -> None:
        for node_id in (1, 2, 3):
            self.restart(node_id)
        self.addresses = {node_id: ("127.0.0.1", port) for node_id, port in enumerate(self._ports, 1)}
        self.log_dirs = {node_id: self._folder / f"kafka-{node_id}" / "logs" for node_id in self.addresses}

    @property
    def pids(self) -> dict[int, int]:
        return {node_id: process.pid for node_id, process in self._processes.items()}

    def kill(self, node_id: int) -> None:
        self._processes[node_id].kill()
        self._processes[node_id].wait()

    def restart(self, node_id: int) -> None:
        folder = self._folder / f"kafka-{node_id}"
        with (folder / "kafka.log").open("ab") as log:
            java = [command("java"), "-Xmx512m", "-Xms512m", "-XX:+UseG1GC", "-cp", self._class_path, "kafka.Kafka"]
            arguments = [*java, str(folder / "server.properties")]
            self._processes[node_id] = subprocess.Popen(arguments, stdout=log, stderr=log)

    def active_controller(self) -> int:
        alive = next(node_id for node_id, process in self._processes.items() if process.poll() is None)
        return quorum.active_controller(self.addresses[alive])

    def stop(self) -> None:
        end(self._processes.values())


def end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """SIGTERM to all; processes that exceed the time limit are killed."""
    asked = list(processes)
    for process in asked:
        process.send_signal(signal.SIGTERM)
    for process in asked:
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
