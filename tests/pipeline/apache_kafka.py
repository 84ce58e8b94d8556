"""One Apache Kafka 4.4.0 node on loopback, for pipeline tests: the reference for our own brokers.

Resolved from Maven Central by coordinates into a cache folder; KRaft, one combined node, a small heap.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from signalbox.testing.free_ports import free_ports

KAFKA_VERSION = "4.4.0"
TOOLS_API_VERSION = "4.3.1"  # 4.4.0 of this one artifact was never published

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
 <modelVersion>4.0.0</modelVersion>
 <groupId>signalbox</groupId><artifactId>apache-kafka</artifactId><version>1</version><packaging>pom</packaging>
 <dependencyManagement><dependencies>
  <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId>
   <version>{TOOLS_API_VERSION}</version></dependency>
 </dependencies></dependencyManagement>
 <dependencies>
  <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
   <version>{KAFKA_VERSION}</version></dependency>
 </dependencies>
</project>
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={directory}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""


def kafka_libraries() -> Path:
    """The folder with Kafka's jars, fetched once."""
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "signalbox" / f"kafka-{KAFKA_VERSION}"
    if not (root / "complete").exists():
        root.mkdir(parents=True, exist_ok=True)
        (root / "pom.xml").write_text(_POM)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={root}/libs"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(root / "pom.xml"), *goal], check=True, timeout=600)
        (root / "complete").touch()
    return root / "libs"


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path, deadline: float) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("Apache Kafka did not start: " + log.read_text()[-2000:]) from None
            time.sleep(0.1)


@contextmanager
def apache_kafka(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Runs the node with its files in `directory` and the additional `settings`; yields its bootstrap address."""
    port, controller_port = free_ports(2)
    class_path = f"{kafka_libraries()}/*"
    directory.mkdir(parents=True, exist_ok=True)
    properties = directory / "server.properties"
    own = "".join(f"{key}={value}\n" for key, value in (settings or {}).items())
    properties.write_text(_PROPERTIES.format(port=port, controller_port=controller_port, directory=directory) + own)
    storage = ["java", "-cp", class_path, "kafka.tools.StorageTool", "format"]
    storage += ["-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(properties)]
    subprocess.run(storage, check=True, capture_output=True, timeout=120)
    log = directory / "kafka.log"
    with log.open("wb") as output:
        java = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-cp", class_path, "kafka.Kafka", str(properties)]
        process = subprocess.Popen(java, stdout=output, stderr=output)
    try:
        _wait_for_port(port, process, log, time.monotonic() + 90)
        yield f"127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)
