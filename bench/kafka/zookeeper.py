"""Three brokers of Apache Kafka 3.9.2 on ZooKeeper with `control.plane.listener.name`: the last line that has one."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from bench.kafka.apache import free_ports, libraries
from bench.kafka.sides import RETENTION_CHECK_MS, Side

_POM = Path(__file__).parent / "pom-3.9.xml"
_STOP_S = 30.0
_JAVA = ["java", "-Xmx512m", "-Xms512m", "-XX:+UseG1GC", "-cp"]
_ZOOKEEPER = (
    "dataDir={folder}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n"
)
_BROKER = """broker.id={node_id}
zookeeper.connect=127.0.0.1:{zookeeper}
listeners=CLIENT://127.0.0.1:{port},REPLICATION://127.0.0.1:{replication},CONTROL://127.0.0.1:{control}
listener.security.protocol.map=CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT
inter.broker.listener.name=REPLICATION
control.plane.listener.name=CONTROL
log.dirs={folder}/logs
num.partitions=1
auto.create.topics.enable=false
log.retention.check.interval.ms={retention_check_ms}
log.initial.task.delay.ms=0
"""


class KafkaOnZooKeeper(Side):
    """One ZooKeeper server, three brokers with a control plane each."""

    name = "Apache Kafka 3.9.2 with a control plane"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._class_path = f"{libraries(_POM).resolve()}/*"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._brokers: dict[int, subprocess.Popen[bytes]] = {}

    def prepare(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._zookeeper,) = free_ports(1)
        data = self._folder / "zookeeper"
        data.mkdir()
        config = self._folder / "zoo.cfg"
        config.write_text(_ZOOKEEPER.format(folder=data, port=self._zookeeper))
        self._spawn("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)

    def launch(self) -> None:
        for node_id in (1, 2, 3):
            folder = self._folder / f"kafka-{node_id}"
            folder.mkdir()
            port, replication, control = free_ports(3)
            values = {"node_id": node_id, "port": port, "replication": replication, "control": control}
            config = folder / "server.properties"
            config.write_text(
                _BROKER.format(
                    folder=folder, zookeeper=self._zookeeper, retention_check_ms=RETENTION_CHECK_MS, **values
                )
            )
            self._brokers[node_id] = self._spawn(f"kafka-{node_id}", "kafka.Kafka", config)
            self.addresses[node_id] = ("127.0.0.1", port)

    @property
    def pids(self) -> dict[int, int]:
        return {node_id: process.pid for node_id, process in self._brokers.items()}

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _spawn(self, name: str, main: str, config: Path) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([*_JAVA, self._class_path, main, str(config)], stdout=log, stderr=log)
        self._processes.append(process)
        return process
