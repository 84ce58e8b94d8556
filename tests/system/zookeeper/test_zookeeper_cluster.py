"""A cluster with its metadata in a real ZooKeeper: the cluster's faults, the ensemble's faults, Kafka 3.9's tools as
readers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic
from tools.chaos.group import read_everything
from tools.chaos.state_reader import state_in_zookeeper
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ZooKeeperServer, ensemble
from tests.system import provision
from tests.system.clusters import QUICK, admin_without
from tests.system.controller.test_kill import (  # run here on this file's `loaded`
    test_a_controller_paused_longer_than_its_session_is_fenced as test_a_sleeping_controller_is_fenced,
)
from tests.system.loaded import PARTITIONS, SESSION_S, TOPIC, LoadedCluster, loaded_cluster
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("M1", "M3")]
__all__ = ["test_a_sleeping_controller_is_fenced"]


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[LoadedCluster]:
    provision.zookeeper()
    with loaded_cluster(tmp_path / "cluster", store="zookeeper") as running:
        yield running


@pytest.mark.slow
def test_a_killed_controller_is_followed_and_nothing_is_lost(loaded: LoadedCluster) -> None:
    with loaded.load():
        victim = loaded.controller()
        loaded.cluster.kill(victim)
        until(lambda: loaded.state.controller_id() not in (victim, -1), "a successor", timeout_s=SESSION_S * 5)
        until(lambda: victim not in loaded.state.leaders(TOPIC).values(), "new leaders")
        loaded.wait_for_more(500)
        loaded.cluster.start_broker(victim)
        loaded.wait_until_healthy()
    loaded.check_records()


def test_a_killed_controller_comes_back_while_its_old_session_exists(tmp_path: Path) -> None:
    """It starts again as a broker although ZooKeeper still has its old session, which would last half a minute.
    (`test_zookeeper_failover.py` measures how soon another one is the controller.)"""
    provision.zookeeper()
    with ensemble(tmp_path / "ensemble") as (server,):
        connect = f"{server.address}/signalbox"
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "zookeeper.session.timeout.ms": "30000",
        }
        with (
            ProcessCluster(tmp_path / "cluster", 3, overrides=overrides) as cluster,
            state_in_zookeeper(connect) as state,
        ):
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            create(admin, TOPIC)
            victim = until(lambda: max(state.controller_id(), 0), "a controller")
            cluster.kill(victim)
            until(lambda: state.controller_id() not in (victim, -1), "a successor")
            until(lambda: victim not in state.leaders(TOPIC).values(), "new leaders")
            create(admin_without(cluster, victim), "after-it", replicas=2)
            cluster.start_broker(victim)
            until(lambda: not state.what_is_missing(3), "a healthy cluster")


@pytest.mark.slow
def test_an_ensemble_loses_its_servers_one_after_another_and_all_at_once(tmp_path: Path) -> None:
    """Three servers. Without one everything works; without two no metadata can change, but produce and fetch work; with
    all back, everything works again."""
    provision.zookeeper()
    with ensemble(tmp_path / "ensemble", servers=3) as servers:
        connect = ",".join(server.address for server in servers) + "/signalbox"
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "zookeeper.session.timeout.ms": "10000",
        }
        cluster = ProcessCluster(
            tmp_path / "cluster", 3, first_port=consecutive_ports(9, Random()), overrides=overrides
        )
        with cluster, state_in_zookeeper(connect) as state:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            create(admin, TOPIC)
            loaded = LoadedCluster(cluster, state)
            with loaded.load():
                servers[0].kill()
                loaded.wait_for_more(300)
                create(admin, "without-one")
                servers[1].kill()
                loaded.wait_for_more(500)
                for server in servers[:2]:
                    server.start()
                for server in servers[:2]:
                    server.wait()
                loaded.wait_until_healthy()
                create(admin, "whole-again")
                for server in servers:
                    server.kill()
                loaded.wait_for_more(500)
                for server in servers:
                    server.start()
                for server in servers:
                    server.wait()
                create(admin, "after-all")
                loaded.wait_until_healthy()
            loaded.check_records()


def create(admin: AdminClient, topic: str, replicas: int = 3) -> None:
    """Creates a topic: three partitions, and a record is acknowledged when two replicas have it."""
    new = NewTopic(topic, PARTITIONS, replication_factor=replicas, config={"min.insync.replicas": "2"})
    admin.create_topics([new], operation_timeout=20)[topic].result(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    provision.zookeeper()
    with ensemble(tmp_path_factory.mktemp("zookeeper")) as (only,):
        yield only


@pytest.fixture(scope="module")
def chroot(server: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """zookeeper.connect of a running cluster with a topic and dynamic configs."""
    connect = f"{server.address}/kafka/cluster-1"
    overrides = {**QUICK, "signalbox.metadata.store": f"zookeeper:{connect}"}
    with ProcessCluster(tmp_path_factory.mktemp("cluster"), 3, overrides=overrides) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        create(admin, "seen")
        retention = ConfigEntry("log.retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
        broker = ConfigResource(ResourceType.BROKER, "2", incremental_configs=[retention])
        for done in admin.incremental_alter_configs([broker]).values():
            done.result(20)
        yield connect


@pytest.mark.slow
@pytest.mark.spec("M2", "L8")
def test_kafkas_own_shell_reads_every_path(chroot: str) -> None:
    """The paths of Kafka that such a cluster has, as Kafka 3.9's zookeeper-shell prints them."""
    paths = {
        "/cluster/id": {"version", "id"},
        "/controller": {"version", "brokerid", "timestamp", "kraftControllerEpoch"},
        "/brokers/ids/1": {"version", "host", "port", "jmx_port", "timestamp", "endpoints", "features",
                           "listener_security_protocol_map", "inter_broker_listener", "control_plane_listener",
                           "privileged_listener", "log_dirs"},
        "/brokers/topics/seen": {"version", "topic_id", "partitions", "adding_replicas", "removing_replicas"},
        "/brokers/topics/seen/partitions/0/state": {"version", "leader", "leader_epoch", "controller_epoch", "isr"},
        "/config/topics/seen": {"version", "config"},
        "/config/brokers/2": {"version", "config"},
        "/feature": {"version", "status", "features"},
    }  # fmt: skip
    printed = shell(chroot, *(f"get {path}" for path in paths), "get /controller_epoch", "ls /brokers/ids")
    objects = [json.loads(line) for line in printed if line.startswith("{")]
    assert [set(each) for each in objects] == [fields - {"privileged_listener"} for fields in paths.values()]
    assert objects[2]["version"] == 5
    assert "1" in printed, "the controller epoch is plain text"
    assert "[1, 2, 3]" in printed


@pytest.mark.slow
@pytest.mark.spec("M2")
def test_kafkas_own_config_tool_knows_our_brokers_and_we_its_configs(chroot: str) -> None:
    """The tool changes only brokers that do not run, and finds that out from Signalbox's registrations."""

    def configs(broker_id: int, *action: str) -> str:
        entity = ("--entity-type", "brokers", "--entity-name", str(broker_id))
        return kafka39("kafka.admin.ConfigCommand", "--zookeeper", chroot, *action, *entity)

    with pytest.raises(AssertionError, match="broker 2 is running"):
        configs(2, "--describe")
    configs(9, "--alter", "--add-config", "log.retention.ms=7200000")
    assert "log.retention.ms=7200000" in configs(9, "--describe")
    with state_in_zookeeper(chroot) as state:
        assert state.configs("brokers/9") == {"log.retention.ms": "7200000"}
        assert state.configs("brokers/2") == {"log.retention.ms": "3600000"}


@pytest.mark.slow
@pytest.mark.spec("M1")
def test_a_cluster_outgrows_its_host(server: ZooKeeperServer, tmp_path: Path) -> None:
    """From SQLite to ZooKeeper and back with `signalbox store copy`, with the same logs."""
    file, chroot = f"sqlite:{tmp_path / 'metadata.db'}", f"zookeeper:{server.address}/grown"
    sent = 0
    for store, moved_from in ((file, None), (chroot, file), (f"sqlite:{tmp_path / 'again.db'}", chroot)):
        if moved_from is not None:
            moved = CliRunner().invoke(app, ["store", "copy", "--from", moved_from, "--to", store])
            assert moved.exit_code == 0, moved.stderr
        with ProcessCluster(tmp_path / "cluster", 3, overrides={**QUICK, "signalbox.metadata.store": store}) as cluster:
            settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap(), "log_level": 2}
            if moved_from is None:
                create(AdminClient(settings), TOPIC)
            producer = Producer({**settings, "acks": "all"})
            for number in range(sent, sent + 100):
                producer.produce(TOPIC, b"0 %d x" % number, partition=0)
            assert producer.flush(30) == 0
            sent += 100
            found = [record for _, record in read_everything(cluster.bootstrap(), TOPIC, 1, 30)[0]]
            assert len(found) == sent


def shell(connect: str, *commands: str) -> list[str]:
    """The lines that zookeeper-shell prints for these commands."""
    main = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
    return kafka39(main, "-server", connect, text="\n".join([*commands, "quit", ""])).splitlines()


def kafka39(main: str, *arguments: str, text: str = "") -> str:
    """The output of a program of Apache Kafka 3.9."""
    java = [*provision.java(), "-cp", provision.jars("kafka39"), main, *arguments]
    run = subprocess.run(java, input=text, capture_output=True, text=True, timeout=90)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
