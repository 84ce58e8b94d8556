"""A cluster of processes: ready when each broker reports it, stopped by process handles, restarted on the same
ports."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from signalbox.configuration.config_file import read_config_file
from signalbox.testing.node_process import NodeProcess, start_interpreter
from signalbox.testing.process_cluster import ClusterFailed, ProcessCluster, _with_ports
from tests.testing.fork_server import ForkServer


@pytest.fixture(scope="module", params=[start_interpreter, ForkServer().start], ids=["interpreter", "fork server"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Nodes of `signalbox up`, which are interpreters; and those of the tests, which the fork server forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessCluster, "start_node", staticmethod(request.param))
        with ProcessCluster(tmp_path_factory.mktemp("processes"), 2) as running:
            yield running


def test_ready_means_that_both_are_there(cluster: ProcessCluster) -> None:
    ready = [broker.ready for broker in cluster.brokers.values()]
    assert [line["node_id"] for line in ready] == [1, 2]
    assert len({line["cluster_id"] for line in ready}) == 1
    assert cluster.bootstrap() == ",".join(broker.address("CLIENT") for broker in cluster.brokers.values())
    assert cluster.bootstrap("CONTROL") != cluster.bootstrap()


def test_a_killed_broker_comes_back_at_its_ports(cluster: ProcessCluster) -> None:
    broker = cluster.brokers[2]
    before = broker.ready
    cluster.kill(2)
    assert not broker.running
    assert cluster.bootstrap() == cluster.brokers[1].address("CLIENT")
    cluster.start_broker(2)
    assert (broker.ready["listeners"], broker.ready["bound"]) == (before["listeners"], before["bound"])
    assert broker.ready["broker_epoch"] > before["broker_epoch"]


def test_other_properties_count_from_the_next_start_on(cluster: ProcessCluster) -> None:
    before = dict(cluster.brokers[2].ready["listeners"])
    more = ",".join(f"{name}://{address}" for name, address in before.items())
    protocols = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT,EXTRA:PLAINTEXT"
    cluster.configure(2, {"listeners": f"{more},EXTRA://127.0.0.1:0", "listener.security.protocol.map": protocols})
    assert cluster.brokers[2].ready["listeners"] == before
    cluster.stop_broker(2)
    cluster.start_broker(2)
    after = dict(cluster.brokers[2].ready["listeners"])
    assert after.pop("EXTRA").startswith("127.0.0.1:")
    assert after == before
    cluster.configure(2, {"listeners": more})
    cluster.stop_broker(2)
    cluster.start_broker(2)


def test_paused_is_running_and_silent(cluster: ProcessCluster) -> None:
    cluster.pause(2)
    host, _, port = cluster.brokers[2].address("CLIENT").rpartition(":")
    assert cluster.brokers[2].running
    with socket.create_connection((host, int(port)), 5) as peer:
        request = b"\0\x12\0\0\0\0\0\1\xff\xff"
        peer.sendall(len(request).to_bytes(4) + request)
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.recv(4)
        cluster.resume(2)
        peer.settimeout(10)
        assert peer.recv(4)


def test_a_controlled_shutdown_ends_with_0_also_from_a_pause(cluster: ProcessCluster) -> None:
    cluster.pause(2)
    assert cluster.stop_broker(2) == 0
    assert cluster.stop_broker(2) == 0
    with pytest.raises(ClusterFailed, match="does not run"):
        cluster.pause(2)
    cluster.start_broker(2)
    assert "ready" in cluster.brokers[2].tail()


def test_a_broker_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, 2, per_broker={2: {"num.partitions": "many"}})
    with pytest.raises(ClusterFailed, match=r"(?s)broker 2 ended.*'many' is not a whole number"):
        cluster.start()
    assert not any(broker.running for broker in cluster.brokers.values())
    assert ProcessCluster(tmp_path / "never", 1).brokers[1].tail() == "(no log)"


def test_a_broker_that_is_being_started_when_a_signal_arrives_is_stopped(tmp_path: Path) -> None:
    begun: list[NodeProcess] = []

    def start_while_a_signal_arrives(arguments: Sequence[str], log: IO[bytes]) -> NodeProcess:
        begun.append(start_interpreter(arguments, log))
        os.kill(os.getpid(), signal.SIGTERM)
        return begun[-1]

    class Interrupted(ProcessCluster):
        start_node = staticmethod(start_while_a_signal_arrives)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with pytest.raises(SystemExit):
            Interrupted(tmp_path, 1).start()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert begun[0].poll() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("listeners", "bound", "found"),
    [
        ("A://127.0.0.1:0,B://127.0.0.1:0", {"A": "127.0.0.1:5"}, "A://127.0.0.1:5,B://127.0.0.1:0"),
        ("A://127.0.0.1:7", {"A": "127.0.0.1:5"}, "A://127.0.0.1:7"),
        ("A://[::1]:0", {"A": "[::1]:5"}, "A://[::1]:5"),
        ("A://:0", {}, "A://:0"),
    ],
)
def test_ports_are_kept(listeners: str, bound: dict[str, str], found: str) -> None:
    assert _with_ports(listeners, bound) == found


def test_ports_from_a_first_one(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, 2, first_port=20_000)
    listeners = cluster._properties(cluster.brokers[2])["listeners"]
    assert listeners == "CLIENT://127.0.0.1:20003,REPLICATION://127.0.0.1:20004,CONTROL://127.0.0.1:20005"


@pytest.mark.spec("F15")
def test_controllers_have_ids_folders_and_ports_of_their_own(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, 2, first_port=20000, controllers=2)
    assert set(cluster.nodes) == {1, 2, 101, 102}
    properties = {node_id: cluster._properties(node) for node_id, node in cluster.nodes.items()}
    assert [properties[node_id]["process.roles"] for node_id in (1, 101)] == ["broker", "controller"]
    assert properties[102]["listeners"] == "CONTROLLER://127.0.0.1:20007"
    assert "log.dirs" not in properties[101]
    assert cluster.controllers[101].folder == tmp_path / "controller-101"
    assert cluster.controllers[101].name == "controller 101"
    assert "process.roles" not in ProcessCluster(tmp_path, 1)._properties(cluster.brokers[1])


def test_an_edited_file_is_kept_and_used(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, 1)
    assert cluster.write_files() == []
    file = cluster.brokers[1].properties_file
    file.write_text(file.read_text().replace("node.id=1", "node.id=7"))
    edited = file.read_bytes()
    again = ProcessCluster(tmp_path, 1, overrides={"num.partitions": "5"})
    assert again.write_files() == [file]
    with again:
        assert again.brokers[1].ready["node_id"] == 7
    assert file.read_bytes() == edited


def test_nothing_is_written_where_a_broker_runs(cluster: ProcessCluster) -> None:
    before = cluster.brokers[1].properties_file.read_bytes()
    cluster.configure(1, {"num.partitions": "7"})
    other = ProcessCluster(cluster.folder, 3)
    with pytest.raises(ClusterFailed, match=r"^brokers 1 and 2 of .* already run \(processes "):
        other.start()
    assert cluster.brokers[1].properties_file.read_bytes() == before
    assert not other.brokers[3].folder.exists()


@pytest.mark.spec("F15")
def test_nothing_is_written_where_only_a_controller_runs(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 1, controllers=1) as running:
        running.kill(1)
        before = running.controllers[101].properties_file.read_bytes()
        other = ProcessCluster(tmp_path, 1, controllers=1, overrides={"num.partitions": "7"})
        with pytest.raises(ClusterFailed, match=r"^controller 101 of .* already runs \(process "):
            other.write_files()
        assert running.controllers[101].properties_file.read_bytes() == before
        running.stop()
        assert other.write_files() == []


def test_a_folders_name_is_one_value_of_the_properties(tmp_path: Path) -> None:
    folder = tmp_path / "a\\tb c\nnum.partitions=7"
    ProcessCluster(folder, 1).write_files()
    values = read_config_file(folder / "broker-1" / "server.properties").values
    assert values["log.dirs"] == str(folder / "broker-1" / "data")
    assert "num.partitions" not in values


def test_a_log_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, 1)
    cluster.write_files()
    other = tmp_path / "other"
    other.write_text("mine")
    cluster.brokers[1].log_file.symlink_to(other)
    with pytest.raises(ClusterFailed, match=r"^broker 1 cannot be started: .*Too many levels of symbolic links.*log"):
        cluster.start()
    assert other.read_text() == "mine"


def test_an_edited_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    ProcessCluster(tmp_path, 1, secured=True).write_files()
    file = tmp_path / "broker-1" / "server.properties"
    edited = file.read_bytes() + "# r\u00e9plica\n".encode("latin-1")
    file.write_bytes(edited)
    with pytest.raises(ClusterFailed, match=r"broker-1/server.properties cannot be read: line \d+ .* not UTF-8"):
        ProcessCluster(tmp_path, 1, secured=True).write_files()
    assert file.read_bytes() == edited


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterFailed, match=r"file/broker-1 cannot be written: Not a directory"):
        ProcessCluster(tmp_path / "file", 1).start()


PROTOCOL_MAP = "listener.security.protocol.map=CLIENT:PLAINTEXT,REPLICATION:"


@pytest.mark.parametrize(
    ("edit", "kept", "secured"),
    [
        ("", 0, True),
        ("num.partitions=3\n", 1, False),
    ],
)
def test_an_older_folder_is_secured_unless_it_was_edited(tmp_path: Path, edit: str, kept: int, secured: bool) -> None:
    ProcessCluster(tmp_path, 2, first_port=20_000).write_files()
    for number in (1, 2):  # older versions wrote no mark
        file = tmp_path / f"broker-{number}" / "server.properties"
        file.write_text(file.read_text().partition("\n")[2] + (edit if number == 1 else ""))
    cluster = ProcessCluster(tmp_path, 2, first_port=20_000, secured=True)
    assert len(cluster.write_files()) == kept
    assert cluster.secured is secured
    assert (tmp_path / "brokers.jaas").exists() is secured
    for broker in cluster.brokers.values():
        assert (PROTOCOL_MAP + ("SASL_PLAINTEXT" if secured else "PLAINTEXT")) in broker.properties_file.read_text()


def test_an_edited_file_with_logins_keeps_them_for_all(tmp_path: Path) -> None:
    ProcessCluster(tmp_path, 1, secured=True).write_files()
    file = tmp_path / "broker-1" / "server.properties"
    file.write_text(file.read_text() + "num.partitions=3\n")
    cluster = ProcessCluster(tmp_path, 2, secured=True)
    assert cluster.write_files() == [file]
    assert cluster.secured
    assert (PROTOCOL_MAP + "SASL_PLAINTEXT") in cluster.brokers[2].properties_file.read_text()
