"""The commands of the pages on security, delegation tokens, metadata store and command line, run as they stand there.

What a page takes as given (files, users, topics) is made before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signalbox.testing.cluster import Cluster
from signalbox.testing.zookeeper import ZooKeeperServer
from tests.system.cli.page_shell import PageShell, block_of, commands_of
from tests.system.provision import zookeeper

pytestmark = pytest.mark.timeout(600)
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def login(mechanism: str, module: str, user: str) -> str:
    jaas = f'{module} username="{user}" password="secret";'
    return f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"


def broker_properties(folder: Path, store: str = "meta.db", node_id: int = 1, protocol: str = "PLAINTEXT") -> str:
    return (
        f"node.id={node_id}\nlisteners=CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0\n"
        f"listener.security.protocol.map=CLIENT:{protocol},REPLICATION:{protocol}\n"
        f"inter.broker.listener.name=REPLICATION\nsignalbox.metadata.store=sqlite:{folder}/{store}\n"
        f"log.dirs={folder}/data-{node_id}\nsignalbox.audit.enable=false\n"
    )


@contextmanager
def started(properties: Path) -> Iterator[str]:
    """A broker process; its address on CLIENT."""
    command = [sys.executable, "-m", "signalbox.wiring.serve", str(properties)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield str(json.loads(process.stdout.readline())["listeners"]["CLIENT"])
        finally:
            process.kill()


def test_security(tmp_path: Path) -> None:
    page = "docs/security.md"
    shell = PageShell(tmp_path)
    secured = broker_properties(tmp_path, protocol="SASL_PLAINTEXT") + block_of(page, "properties")
    shell.write("server.properties", f"{secured}listener.name.client.scram-sha-256.sasl.jaas.config={_SCRAM};\n")
    shell.write("admin.properties", login("SCRAM-SHA-256", _SCRAM, "admin"))
    create, export, *manage = commands_of(page)
    shell.run(create)
    shell.run(create.replace("name=broker", "name=admin"))
    with started(tmp_path / "server.properties") as address:
        shell.run(export)
        shell.environment["SIGNALBOX_BOOTSTRAP"] = address
        printed = [shell.run(command, given="secret\nsecret\n") for command in manage]
    assert "alice: SCRAM-SHA-256 set" in printed[0]
    assert "User:alice" in printed[3], "the listed ACL applies to flights-2026"
    assert "alice: SCRAM-SHA-256 deleted" in printed[-1]


def test_delegation_tokens(tmp_path: Path) -> None:
    page = "docs/delegation-tokens.md"
    users = " ".join(f'user_{name}="secret"' for name in ("alice", "bob", "carol"))
    key, _, value = block_of(page, "properties").strip().partition("=")
    overrides = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": f"{_PLAIN} {users};",
        "signalbox.audit.enable": "false",
        key: value,
    }
    with Cluster(brokers=1, overrides=overrides) as cluster:
        shell = PageShell(tmp_path, SIGNALBOX_BOOTSTRAP=cluster.bootstrap_servers)
        for user in ("alice", "bob", "carol"):
            shell.write(f"{user}.properties", login("PLAIN", _PLAIN, user))
        create, *others = commands_of(page)
        token_id, hmac = (line.partition("=")[2] for line in shell.run(create).splitlines()[:2])
        shell.environment["SIGNALBOX_TOKEN_HMAC"] = hmac
        described, renewed, expired, of_alice = (shell.run(command) for command in others)
    assert token_id in described
    assert renewed.startswith("the token expires at ")
    assert expired.startswith("the token expired at ")
    assert "User:alice" in of_alice
    assert "User:carol" in of_alice


def test_metadata_store(tmp_path: Path) -> None:
    page = "docs/metadata-store.md"
    shell = PageShell(tmp_path)
    for node_id in (1, 2):
        shell.write(f"broker-{node_id}/server.properties", broker_properties(tmp_path, "new.db", node_id))
    shell.write("server.properties", broker_properties(tmp_path))
    shell.run("signalbox store format --config server.properties --add-scram 'SCRAM-SHA-256=[name=a,password=secret]'")
    zookeeper()
    server = ZooKeeperServer(tmp_path / "zookeeper")
    server.start()
    try:
        server.wait()
        for command in commands_of(page):
            shell.run(command.replace("/var/lib/signalbox", str(tmp_path)).replace("zk1:2181", server.address))
    finally:
        server.kill()
    assert (tmp_path / "metadata-2026-11-21.jsonl").read_text().count("\n") > 1
    assert (tmp_path / "new.db").exists()


def test_command_line(tmp_path: Path) -> None:
    page = "docs/command-line.md"
    with Cluster(brokers=3, overrides={"offsets.topic.replication.factor": "1"}) as cluster:
        shell = PageShell(tmp_path, SIGNALBOX_BOOTSTRAP=cluster.bootstrap_servers, SIGNALBOX_PROFILES="profiles.toml")
        shell.write("profiles.toml", block_of(page, "toml").replace("127.0.0.1:19092", cluster.bootstrap_servers))
        profiles = (tmp_path / "profiles.toml").read_text()
        address = next(line for line in profiles.splitlines() if "staging.example.org" in line)
        shell.write("profiles.toml", profiles.replace(address, f'bootstrap-server = "{cluster.bootstrap_servers}"'))
        shell.write("users", "key:value\ngone:\n")
        shell.write("staging.properties", "security.protocol=PLAINTEXT\n")
        for topic, partitions in (("numbers", 3), ("users", 2), ("flights", 6)):
            if topic != "flights":  # the page creates it
                shell.run(f"signalbox topic create {topic} --partitions {partitions}")
        shell.run("signalbox features upgrade transaction.version=2")
        shell.run("seq 6000 | sed 's/.*/key-&:value/' | signalbox produce -t users -K :")
        for command in sorted(commands_of(page), key=_when):
            shell.run(_ended(command))


def _when(command: str) -> int:
    """Commands that make what others need come first, and the cluster of `up` before the faults of `drill`."""
    first = ("signalbox topic create", "seq ", "signalbox produce", "signalbox consume", "signalbox quota alter")
    for number, begin in enumerate(first):
        if command.startswith(begin):
            return number
    if command.startswith("signalbox down"):
        return 30
    if command.startswith("signalbox drill"):
        return 20
    return 10 if command.startswith("signalbox up") else 9


def _ended(command: str) -> str:
    """The command; one that would not end gets an end, and one of `up` free ports and the faults of `drill`."""
    text = command.partition("  #")[0].rstrip()
    if text.startswith("signalbox up"):
        return f"{text.replace('--brokers 1', '--brokers 2')} --drill --port 0"
    endless = text.startswith("signalbox consume") and not {"-e", "-c"} & set(text.split())
    if endless or "--follow" in text:
        return f"timeout --signal=INT 2 {text}; test $? = 124"
    return text
