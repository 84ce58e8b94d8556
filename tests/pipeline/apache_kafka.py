"""One Apache Kafka 4.4.0 node on loopback: the reference for our own brokers. KRaft, combined, a small heap."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from signalbox.testing.free_ports import free_ports
from tests.system.provision import jars, java

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}{more}
controller.listener.names=CONTROLLER
log.dirs={directory}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""


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
def apache_kafka(directory: Path, settings: Mapping[str, str] | None = None, listener: str = "") -> Iterator[str]:
    """Runs the node with its files in `directory`, the additional `settings` and one more `listener` (`NAME://host:port`);
    yields its bootstrap address."""
    port, controller_port = free_ports(2)
    class_path = jars("kafka44")
    directory.mkdir(parents=True, exist_ok=True)
    properties = directory / "server.properties"
    own = "".join(f"{key}={value}\n" for key, value in (settings or {}).items())
    more = f",{listener}" if listener else ""
    text = _PROPERTIES.format(port=port, controller_port=controller_port, directory=directory, more=more)
    properties.write_text(text + own)
    storage = [*java(), "-cp", class_path, "kafka.tools.StorageTool", "format"]
    storage += ["-t", "4L6g3nShT-eMCtK--X86sw", "--ignore-formatted", "-c", str(properties)]
    subprocess.run(storage, check=True, capture_output=True, timeout=120)
    log = directory / "kafka.log"
    with log.open("wb") as output:
        node = [*java(heap="384m"), "-cp", class_path, "kafka.Kafka", str(properties)]
        process = subprocess.Popen(node, stdout=output, stderr=output)
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
