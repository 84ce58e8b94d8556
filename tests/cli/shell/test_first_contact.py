"""Commands that cannot connect end early, with the likely reason: wrong ports, wrong listeners, wrong certificates."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.cli.shell import first_contact
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from tests.client.loopback_cluster import LoopbackCluster

LIMIT_S = 2.0  # a permanent error takes a second at most on a host that does nothing else


def timed(bootstrap: str, *arguments: str) -> tuple[Result, float]:
    began = time.monotonic()
    result = CliRunner().invoke(app, ["topic", "list", "-b", bootstrap, *arguments])
    return result, time.monotonic() - began


def config(folder: Path, **keys: str) -> str:
    file = folder / "client.properties"
    file.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in keys.items()))
    return str(file)


def test_a_port_without_a_listener() -> None:
    result, taken_s = timed("127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Nothing listens at this port" in result.stderr
    assert "Tried 127.0.0.1:1 with security.protocol=PLAINTEXT" in result.stderr
    assert taken_s < LIMIT_S


@pytest.mark.parametrize(
    ("listener", "keys", "hint"),
    [
        ("CONTROL", {}, "The listener does not serve clients"),
        ("CLIENT", {"security__protocol": "SSL"}, "The listener may not speak TLS"),
    ],
)
def test_a_wrong_listener_or_protocol(
    cluster: Cluster, tmp_path: Path, listener: str, keys: dict[str, str], hint: str
) -> None:
    address = cluster.nodes[1].describe()["listeners"][listener]
    result, taken_s = timed(address, "--command-config", config(tmp_path, **keys))
    assert (result.exit_code, result.stdout) == (1, "")
    assert hint in result.stderr
    assert taken_s < LIMIT_S


def test_a_port_that_never_answers_costs_the_time_to_connect(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        keys = config(tmp_path, socket__connection__setup__timeout__ms="300")
        result, taken_s = timed(address, "--command-config", keys)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no answer within 300 ms" in result.stderr
    assert "time to connect 300 ms" in result.stderr
    assert taken_s < LIMIT_S + 1


def test_an_address_that_answers_is_enough(cluster: Cluster, run: Any) -> None:
    run("topic", "create", "reached")
    result, _ = timed(f"127.0.0.1:1,{cluster.bootstrap_servers}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "reached" in result.stdout.splitlines()


def test_a_member_of_a_group_says_that_the_broker_is_at_its_limit_of_connections() -> None:
    with Cluster(brokers=1, overrides={"signalbox.audit.enable": "false"}) as limited:
        runner = CliRunner(env={"SIGNALBOX_BOOTSTRAP": limited.bootstrap_servers})
        assert runner.invoke(app, ["topic", "create", "read"]).exit_code == 0
        assert runner.invoke(app, ["config", "set", "broker:", "max.connections.per.ip=2", "--yes"]).exit_code == 0
        began = time.monotonic()
        result = runner.invoke(app, ["consume", "-t", "read", "-G", "readers"])
        taken_s = time.monotonic() - began
    assert (result.exit_code, result.stdout) == (1, "")
    assert "while it keeps 2 other connections of this client" in result.stderr
    assert "Raise max.connections.per.ip or max.connections" in result.stderr
    assert taken_s < 10


def test_a_broker_that_is_missing_for_long_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr("typer.echo", lambda text, err: notes.append(text))

    async def until_noted(client: ClusterClient) -> str:
        while not notes:
            try:
                await client.request(2, MetadataRequest(topics=[]))
            except ClientFailure:
                await client.pause(1, client.deadline())
        return "done"

    async def run() -> str:
        async with LoopbackCluster() as cluster:
            for node_id in (1, 2):
                await cluster.add_broker(node_id)
            await cluster.brokers[2].stop()
            bootstrap = "{}:{}".format(*cluster.brokers[1].address)
            async with ClusterClient(ClientSettings.of(bootstrap, api_timeout_ms=300)) as client:
                await client.some_node(client.deadline(5_000), set())
                return await first_contact.watched(client, until_noted(client))

    assert asyncio.run(run()) == "done"
    assert len(notes) == 1
    assert notes[0].startswith("still waiting for a broker: could not connect to 127.0.0.1:")


def test_the_reason_of_an_error_is_printed_once(caplog: pytest.LogCaptureFixture) -> None:
    """A cluster whose brokers cannot be reached at the addresses that they advertise: the client starts over."""
    log = logging.getLogger("signalbox.client")
    text = "Rebootstrapping from the bootstrap servers: %s"

    def fail() -> None:
        with first_contact.held_warnings():
            log.warning(text, ClientFailure("x cannot be reached"))
            log.warning(text, ClientFailure("another reason"))
            log.error("something else")
            assert caplog.messages == ["something else"]
            raise ClientFailure("no broker: x cannot be reached")

    with pytest.raises(ClientFailure):
        fail()
    assert caplog.messages[1:] == ["Rebootstrapping from the bootstrap servers: another reason"]
    log.warning(text, "later")
    assert caplog.messages[-1].endswith("later")


def test_a_broker_that_advertises_a_name_that_is_none(caplog: pytest.LogCaptureFixture) -> None:

    async def run() -> Result:
        async with LoopbackCluster() as cluster:
            bootstrap = "{}:{}".format(*(await cluster.add_broker(1)).address)
            cluster.advertised[1] = ("nosuch\x1b.invalid", 9092)
            result, _ = await asyncio.to_thread(timed, bootstrap)
            return result

    result = asyncio.run(run())
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert r"could not connect to nosuch\x1b.invalid:9092 (resolve)" in lines[0]
    assert [line.split()[0] for line in lines] == ["could", "A", "Tried"]
    assert not [record for record in caplog.records if "Rebootstrapping" in record.message]
