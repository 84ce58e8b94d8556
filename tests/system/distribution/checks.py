"""What an installed distribution must do: each check runs the commands of an environment, as a user would."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.system.distribution.environment import ROOT, Environment, run

_CLIENT = """
import asyncio
import sys

from signalbox.client import EARLIEST, AdminClient, Consumer, Producer, TopicPartition


async def main() -> None:
    async with AdminClient.of(sys.argv[1]) as admin:
        async with Producer(admin.client) as producer:
            await (await producer.send("greetings", b"from the client", partition=1))
        consumer = Consumer(admin.client)
        await consumer.assign({TopicPartition("greetings", 1): EARLIEST})
        print(*[record.value for record in await consumer.poll(30_000)])
        await consumer.close()


asyncio.run(main())
"""
_SUITE = """
from pathlib import Path

import pytest
import signalbox
from signalbox.client import SyncClient
from signalbox.testing.faults import CutAfterRequest

SECURITY = {security!r}


@pytest.mark.kafka_cluster(brokers=1, security=SECURITY)
def test_it(kafka_cluster, kafka_topic):
    assert Path(signalbox.__file__).is_relative_to({packages!r})
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        if SECURITY == "PLAINTEXT":
            kafka_cluster.faults(CutAfterRequest(api="Produce"))
        producer.send(kafka_topic, b"once", partition=0).result(60)
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"once"]
"""


def check_brokers_clients_doctor(environment: Environment) -> None:
    """Three brokers, topics, records, the Python client and the doctor, by the installed command."""
    assert environment.run("signalbox", "--version") == f"signalbox {source_version()}\n"
    with _running_cluster(environment) as servers:
        options = ("-b", servers)
        environment.run("signalbox", "produce", "-t", "greetings", "-K", ":", "-p", "0", *options, given="en:hello\n")
        read = environment.run("signalbox", "consume", "-t", "greetings", "-e", "-f", "%p %k=%s\\n", *options)
        assert read == "0 en=hello\n"
        (environment.home / "client.py").write_text(_CLIENT)
        assert environment.run("python", "client.py", servers) == "b'from the client'\n"
        report = json.loads(environment.run("signalbox", "doctor", servers, "--json"))
        assert report["status"] == 0, report


def check_table_of_topic(environment: Environment) -> None:
    """A topic becomes a Delta table, with the Spark and the Java that the extra brought."""
    warehouse = environment.home / "lake"
    with _running_cluster(environment) as servers:
        environment.run("signalbox", "produce", "-t", "greetings", "-b", servers, given="one\ntwo\n")
        tables = ("pipeline", "tables", "greetings", "--warehouse", str(warehouse), "--profile", "pypi", "-b", servers)
        environment.run("signalbox", *tables, timeout_s=390)
    # Arrow reads the files that the log names: the file system of delta-rs can abort the interpreter when it ends.
    read = f"from deltalake import DeltaTable; files = DeltaTable({str(warehouse / 'greetings')!r}).file_uris()"
    shown = "print(sorted(dataset(files).to_table()['value'].to_pylist()))"
    values = environment.run("python", "-c", f"{read}; from pyarrow.dataset import dataset; {shown}")
    assert values == "[b'one', b'two']\n"


@contextmanager
def _running_cluster(environment: Environment) -> Iterator[str]:
    """The bootstrap servers of three brokers with a topic, started by `up`."""
    data = str(environment.home / "cluster")
    up = environment.run("signalbox", "up", "--brokers", "3", "--data", data, "--port", "0", "--detach",
                         "--topic", "greetings:3")  # fmt: skip
    try:
        yield re.findall(r"127\.0\.0\.1:\d+(?:,127\.0\.0\.1:\d+)+", up)[0]
    finally:
        environment.run("signalbox", "down", "--data", data)


def check_fixtures(environment: Environment, *, security: str = "PLAINTEXT") -> None:
    """pytest, which the environment must have, finds the fixtures without an import."""
    suite = environment.home / "test_it.py"
    suite.write_text(_SUITE.format(packages=str(environment.packages), security=security))
    assert "1 passed" in environment.run("python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py")


def check_examples(environment: Environment) -> None:
    """The twelve examples of the test kit, copied away from the repository."""
    folder = environment.home / "testkit"
    shutil.copytree(ROOT / "examples" / "testkit", folder, ignore=shutil.ignore_patterns("__pycache__"))
    options = ("-p", "no:cacheprovider", "-q", "--timeout=90", "--rootdir", str(folder), str(folder))
    assert " passed" in environment.run("python", "-m", "pytest", *options, timeout_s=390)


def check_tour(environment: Environment, tour: str) -> None:
    """The commands of a tour (`tools/tour/tours.toml`), with the programs of this environment."""
    programs = str(environment.folder / "bin")
    shown = run(
        [sys.executable, "-m", "tools.tour", tour, "--programs", programs], ROOT, timeout_s=900, home=Path.home()
    )
    assert re.search(r"^[1-9]\d* passed, 0 failed\n\Z", shown, re.MULTILINE), shown


def check_store_on_zookeeper(environment: Environment) -> None:
    """The driver for ZooKeeper is found: `check` accepts a store there."""
    properties = environment.home / "zookeeper.properties"
    properties.write_text(
        "node.id=1\nlisteners=CLIENT://127.0.0.1:19092\nlistener.security.protocol.map=CLIENT:PLAINTEXT\n"
        f"inter.broker.listener.name=CLIENT\nlog.dirs={environment.home / 'data'}\n"
        "signalbox.metadata.store=zookeeper:127.0.0.1:2181/kafka\n"
    )
    environment.run("signalbox", "check", str(properties))


def source_version() -> str:
    text = (ROOT / "src" / "signalbox" / "__init__.py").read_text()
    [version] = re.findall(r'__version__ = "(.+)"', text)
    return str(version)


def readme_blocks(section: str, page: Path = ROOT / "README.md") -> list[str]:
    """The blocks of commands in a section of a page."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(?:\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
