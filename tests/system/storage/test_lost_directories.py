"""All brokers die and restart, one of them with its log directory lost, truncated or restored from an older copy: in
any order of starts, no acknowledged record is lost, and the affected replica is rebuilt from an intact one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.group import read_everything
from tools.chaos.state_reader import StateReader
from tools.chaos.stores import STORES
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.common.ids import TopicPartition
from signalbox.storage.files.checkpoint_file import read_offsets
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from tests.system import provision
from tests.system.clusters import QUICK, controller_id, metric
from tests.waiting import until

pytestmark = [pytest.mark.timeout(400), pytest.mark.spec("D3")]

TOPIC, PARTITIONS = "flights", 2
SESSION_MS = 3_000
BATCH = 40
AFFECTED = 1
ORDERS = tuple(permutations((1, 2, 3)))
HOLDS = "not truncated below its high watermark"
WAIT = "signalbox.unclean.shutdown.election.wait.ms"
FOR_EVER = {WAIT: "600000"}  # an election that needs the timeout fails its test
SOON = {WAIT: "1500"}


class Outage:
    """A cluster whose brokers are all killed several times; no record in `acknowledged` may ever be missing."""

    def __init__(self, cluster: ProcessCluster, state: StateReader) -> None:
        self.cluster = cluster
        self.state = state
        self.acknowledged: list[int] = []

    def data(self, node_id: int) -> Path:
        return self.cluster.nodes[node_id].folder / "data"

    def produce(self) -> None:
        """A batch of records; every in-sync replica has each of them."""
        self.wait_until_healthy()
        failed: list[object] = []

        def answered(error: object, _: object) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(), "acks": "all", "linger.ms": 5})
        numbers = range(len(self.acknowledged), len(self.acknowledged) + BATCH)
        for number in numbers:
            value = b"0 %d flight" % number
            producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=answered)
            if number % 8 == 7:
                producer.flush(30)  # several batches, so that a truncated log keeps some of them
        assert producer.flush(30) == 0
        assert failed == []
        self.acknowledged += numbers

    def kill_all(self) -> None:
        """No broker observes the death of another: the ISR does not change."""
        self.cluster.kill_at_once(self.cluster.brokers)

    def leaders(self) -> dict[int, int]:
        return self.state.leaders(TOPIC)

    def wait_until_healthy(self) -> None:
        """Waits until all brokers are registered and all replicas in sync."""
        until(lambda: not self.state.what_is_missing(len(self.cluster.brokers)), "a healthy cluster")

    def start_in(self, order: tuple[int, ...]) -> None:
        """Starts the brokers in this order. The affected replica must not lead before the others are back.

        Until the session of the killed broker ends it is still registered, and may be elected: it is dead."""
        for node_id in order[:-1]:
            self.cluster.start_broker(node_id)
            if self.cluster.brokers[AFFECTED].running:
                assert AFFECTED not in self.leaders().values(), (order, node_id)
            else:
                until(lambda: AFFECTED not in self.leaders().values(), "the registration of the killed broker is gone")
        self.cluster.start_broker(order[-1])

    def read(self) -> list[int]:
        found = read_everything(self.cluster.bootstrap(), TOPIC, PARTITIONS, 30)
        return sorted(record.number for rows in found.values() for _, record in rows)

    def check_records(self) -> None:
        self.wait_until_healthy()
        assert self.read() == self.acknowledged

    def high_watermarks(self, node_id: int) -> dict[TopicPartition, int]:
        """The topic's high watermarks in the broker's checkpoint file."""
        saved = read_offsets(str(self.data(node_id) / "replication-offset-checkpoint"))
        return {partition: offset for partition, offset in saved.items() if partition.topic == TOPIC}

    def logged(self, text: str) -> bool:
        return any(text in broker.log_file.read_text() for broker in self.cluster.brokers.values())


@contextmanager
def outage(folder: Path, store: str, overrides: Mapping[str, str]) -> Iterator[Outage]:
    if store == "zookeeper":
        provision.zookeeper()
    with STORES[store](folder, SESSION_MS) as running:
        settings = {**QUICK, **running.settings, "signalbox.audit.enable": "false", **overrides}
        cluster = ProcessCluster(folder, 3, first_port=consecutive_ports(9, Random()), overrides=settings)
        with cluster, running.state() as state:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            new = NewTopic(TOPIC, PARTITIONS, replication_factor=3, config={"min.insync.replicas": "2"})
            admin.create_topics([new], operation_timeout=20)[TOPIC].result(30)
            yield Outage(cluster, state)


def wipe(run: Outage) -> None:
    shutil.rmtree(run.data(AFFECTED))


def cut(run: Outage) -> None:
    """Truncates the segments to half their size; the files that record how the last run ended stay."""
    for segment in run.data(AFFECTED).glob(f"{TOPIC}-*/*.log"):
        with segment.open("r+b") as file:
            file.truncate(segment.stat().st_size // 2)


def restore(run: Outage) -> None:
    shutil.rmtree(run.data(AFFECTED))
    shutil.copytree(run.data(AFFECTED).with_name("copy"), run.data(AFFECTED))


def copy_while_stopped(run: Outage) -> None:
    """The older copy is of a clean shutdown and includes the clean shutdown marker."""
    run.cluster.stop_broker(AFFECTED)
    shutil.copytree(run.data(AFFECTED), run.data(AFFECTED).with_name("copy"))
    run.cluster.start_broker(AFFECTED)


FAULTS: dict[str, Callable[[Outage], None]] = {"wiped": wipe, "cut": cut, "restored": restore}


def rounds(run: Outage, fault: str, orders: tuple[tuple[int, ...], ...]) -> None:
    if fault == "restored":
        run.produce()
        copy_while_stopped(run)
    for order in orders:
        run.produce()
        run.kill_all()
        FAULTS[fault](run)
        run.start_in(order)
        run.check_records()
    assert not run.logged(HOLDS)


@pytest.mark.slow
@pytest.mark.spec("M1")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("store", STORES)
def test_every_order_of_return(tmp_path: Path, store: str, fault: str) -> None:
    with outage(tmp_path / "cluster", store, FOR_EVER) as run:
        rounds(run, fault, ORDERS)


def ask(run: Outage, *arguments: str) -> str:
    """The output of the command line."""
    result = CliRunner().invoke(app, [*arguments, "--bootstrap-server", run.cluster.bootstrap()])
    assert result.exit_code == 0, result.output
    return result.stdout


def described(run: Outage) -> str:
    """`topic describe`; empty while a broker that has just started has no metadata of the topic yet."""
    result = CliRunner().invoke(app, ["topic", "describe", TOPIC, "--bootstrap-server", run.cluster.bootstrap()])
    assert result.exit_code == 0 or f"topic {TOPIC} does not exist" in result.output, result.output
    return result.stdout if result.exit_code == 0 else ""


def led_by(run: Outage, node_id: int) -> bool:
    return set(run.leaders().values()) == {node_id}


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_a_leader_that_is_registered_and_dead_costs_no_record(tmp_path: Path, store: str) -> None:
    """A broker returns without its log while another in-sync replica is registered and silent. That replica becomes the
    leader and dies without having responded: the broker must not have created an empty log for it meanwhile, which
    would count as the longest log that is left."""
    with outage(tmp_path / "cluster", store, SOON) as run:
        run.produce()
        silent = next(node_id for node_id in (2, 3) if node_id != controller_id(run.cluster))
        run.cluster.pause(silent)
        run.cluster.kill_at_once([node_id for node_id in run.cluster.brokers if node_id != silent])
        wipe(run)
        run.cluster.start_broker(AFFECTED)
        until(lambda: led_by(run, silent) or led_by(run, -1), "the only member that may have all records leads")
        run.cluster.kill(silent)
        until(lambda: "broker 1 came back without its log" in described(run), "a reason")
        assert led_by(run, -1)
        for node_id in (2, 3):
            run.cluster.start_broker(node_id)
        run.wait_until_healthy()
        assert run.read() == run.acknowledged


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_a_lone_broker_without_its_log_waits_for_an_operator(tmp_path: Path, store: str) -> None:
    """The partition stays offline, with the reason in log, metric and `topic describe`; an operator accepts the loss,
    and the replicas that return later follow."""
    with outage(tmp_path / "cluster", store, SOON) as run:
        run.produce()
        run.kill_all()
        wipe(run)
        run.cluster.start_broker(AFFECTED)
        until(lambda: "broker 1 came back without its log" in described(run), "a reason")
        # A killed broker that is registered longer than the other is elected, and is then the only in-sync replica.
        assert re.search("start broker (2, 3|2|3) with its log directory", described(run))
        lost = metric(run.cluster, AFFECTED, "signalbox_controller_elections_lostlogpartitioncount")
        offline = metric(run.cluster, AFFECTED, "kafka_controller_kafkacontroller_offlinepartitionscount")
        assert (lost, offline) == (PARTITIONS, PARTITIONS)
        assert run.logged(f"{PARTITIONS} partitions stay offline ({TOPIC}-0, {TOPIC}-1): broker 1 came back")
        assert led_by(run, -1)
        assert "flights-0: has a new leader" in ask(run, "topic", "elect", TOPIC, "--unclean")
        assert led_by(run, AFFECTED)
        run.cluster.start_broker(2)
        run.cluster.start_broker(3)
        run.wait_until_healthy()
        assert run.read() == []
        assert not run.logged(HOLDS)


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_after_the_wait_a_cut_log_leads_and_the_others_keep_their_records(tmp_path: Path, store: str) -> None:
    often = {"replica.high.watermark.checkpoint.interval.ms": "100"}
    with outage(tmp_path / "cluster", store, {**SOON, **often}) as run:
        run.produce()
        until(lambda: sum(run.high_watermarks(2).values()) == BATCH, "what was acknowledged is known on disk")
        run.kill_all()
        cut(run)
        run.cluster.start_broker(AFFECTED)
        until(lambda: led_by(run, AFFECTED), "the best of those present")
        run.cluster.start_broker(2)
        until(lambda: run.logged(HOLDS), "an error")
        assert 0 < len(run.read()) < BATCH
        # The opposite case: the intact replica is elected, and no acknowledged record is lost.
        run.cluster.stop_broker(AFFECTED)
        until(lambda: led_by(run, -1), "no leader")
        ask(run, "topic", "elect", TOPIC, "--unclean")
        assert led_by(run, 2)
        run.cluster.start_broker(3)
        run.cluster.start_broker(AFFECTED)
        run.check_records()


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_what_lost_nothing_leads_at_once(tmp_path: Path, store: str) -> None:
    """The last broker of a clean stop; and, after a kill, the only replica of a partition."""
    with outage(tmp_path / "cluster", store, FOR_EVER) as run:
        admin = AdminClient({"bootstrap.servers": run.cluster.bootstrap(), "log_level": 2})
        admin.create_topics([NewTopic("alone", 3, replication_factor=1)], operation_timeout=20)["alone"].result(30)
        run.produce()
        for node_id in (1, 2, 3):
            run.cluster.stop_broker(node_id)
        run.cluster.start_broker(3)
        until(lambda: led_by(run, 3), "the last one to lead")
        run.cluster.start_broker(1)
        run.cluster.start_broker(2)
        run.check_records()
        run.kill_all()
        for node_id in (2, 3, 1):
            run.cluster.start_broker(node_id)
            until(lambda: node_id in run.state.leaders("alone").values(), "the only replica to lead")  # noqa: B023
        run.check_records()
