"""Apache Kafka 3.9.2 on ZooKeeper, the last release line that supports it; and its ZooKeeper, used by ours too."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.system import provision

from bench.kafka.apache import end, libraries
from bench.kafka.sides import RETENTION, Ours, Side, metadata, until
from signalbox.testing.free_ports import free_ports
from signalbox.testing.zookeeper import serves

_POM = Path(__file__).parent / "pom-3.9.xml"
_READY_S = 60.0
_JAVA = ("-XX:+UseG1GC", "-cp")
_HEAP = ["-Xmx512m", "-Xms512m"]
_ZOOKEEPER = """dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
4lw.commands.whitelist=srvr
"""
_BROKER = """broker.id={node_id}
zookeeper.connect={zookeeper}
listeners=CLIENT://127.0.0.1:{port},REPLICATION://127.0.0.1:{replication},CONTROL://127.0.0.1:{control}
listener.security.protocol.map=CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT
inter.broker.listener.name=REPLICATION
log.dirs={folder}/logs
num.partitions=1
auto.create.topics.enable=false
"""
_CONTROL_PLANE = "control.plane.listener.name=CONTROL\n"


def _java(folder: Path, name: str, main: str, config: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("ab") as log:
        command = [provision.command("java"), *_JAVA, f"{libraries(_POM).resolve()}/*", *_HEAP, main, str(config)]
        return subprocess.Popen(command, stdout=log, stderr=log)


class ZooKeeper:
    """One server of the version that Kafka 3.9 ships, with its defaults; the same for both sides."""

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        (folder / "zookeeper").mkdir(parents=True)
        config = folder / "zoo.cfg"
        config.write_text(_ZOOKEEPER.format(folder=folder / "zookeeper", port=port))
        self.process = _java(folder, "zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
        until(lambda: serves(port), _READY_S)


class KafkaOnZooKeeper(Side):
    """One ZooKeeper server, three brokers."""

    compiles_at_run_time = True
    forwards_creations = False

    def __init__(self, folder: Path, *, control_plane: bool) -> None:
        super().__init__()
        self.name = "Apache Kafka 3.9.2" + (" with a control plane" if control_plane else "")
        self._folder = folder
        retention = "".join(f"{key}={value}\n" for key, value in RETENTION.items())
        self._properties = _BROKER + retention + (_CONTROL_PLANE if control_plane else "")
        self._zookeeper: ZooKeeper | None = None
        self._brokers: dict[int, subprocess.Popen[bytes]] = {}

    def prepare(self) -> None:
        self._zookeeper = ZooKeeper(self._folder)

    def launch(self) -> None:
        assert self._zookeeper is not None
        for node_id in (1, 2, 3):
            folder = self._folder / f"kafka-{node_id}"
            folder.mkdir()
            port, replication, control = free_ports(3)
            values = {"node_id": node_id, "port": port, "replication": replication, "control": control}
            text = self._properties.format(folder=folder, zookeeper=self._zookeeper.address, **values)
            (folder / "server.properties").write_text(text)
            self.restart(node_id)
            self.addresses[node_id] = ("127.0.0.1", port)

    @property
    def pids(self) -> dict[int, int]:
        return {node_id: process.pid for node_id, process in self._brokers.items()}

    @property
    def helpers(self) -> list[int]:
        return [self._zookeeper.process.pid] if self._zookeeper is not None else []

    def kill(self, node_id: int) -> None:
        self._brokers[node_id].kill()
        self._brokers[node_id].wait()

    def restart(self, node_id: int) -> None:
        config = self._folder / f"kafka-{node_id}" / "server.properties"
        self._brokers[node_id] = _java(self._folder, f"kafka-{node_id}", "kafka.Kafka", config)

    def active_controller(self) -> int:
        alive = next(node_id for node_id, process in self._brokers.items() if process.poll() is None)
        found = metadata(self.addresses[alive], [])
        if found.controller_id not in {broker.node_id for broker in found.brokers}:
            raise RuntimeError("no broker is the controller at the moment")
        return int(found.controller_id)

    def stop(self) -> None:
        end(self._brokers.values())
        if self._zookeeper is not None:
            end([self._zookeeper.process])


class OursOnZooKeeper(Ours):
    """Three broker processes whose metadata is in the same ZooKeeper."""

    name = "Signalbox on ZooKeeper"

    def __init__(self, folder: Path) -> None:
        self._zookeeper = ZooKeeper(folder)
        super().__init__(folder, {"signalbox.metadata.store": f"zookeeper:{self._zookeeper.address}/signalbox"})

    @property
    def helpers(self) -> list[int]:
        return [self._zookeeper.process.pid]

    def stop(self) -> None:
        super().stop()
        end([self._zookeeper.process])
