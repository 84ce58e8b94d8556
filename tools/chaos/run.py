"""One run from the empty folder to the report: cluster, clients, faults, checks."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ClusterFailed, ProcessCluster
from tools.chaos.bank import bank
from tools.chaos.bank.bank import Bank
from tools.chaos.bank.bank_check import check_bank
from tools.chaos.bank.history import BankHistory
from tools.chaos.broker_logs import logged_losses, noisiest, troubles
from tools.chaos.changes.caller import LOGIN_SETTINGS, USER
from tools.chaos.changes.final_check import check_until_consistent
from tools.chaos.changes.kinds import all_kinds
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.clients import LOST, BrokersOfSession, made_yielding
from tools.chaos.destroyed_topics import DestroyedTopic, check_destroyed
from tools.chaos.faults.descriptor_fault import descriptor_faults
from tools.chaos.faults.destroyed_copies import PARTITIONS as DESTROYED_PARTITIONS
from tools.chaos.faults.destroyed_copies import DestroyedCopies
from tools.chaos.faults.directory_faults import directory_faults
from tools.chaos.faults.injector import ClusterUnhealthy, FaultInjector, network_faults
from tools.chaos.faults.network import Network
from tools.chaos.faults.power import Power
from tools.chaos.faults.store_restored import StoreRestored
from tools.chaos.faults.switchboard_process import SwitchboardProcess
from tools.chaos.group import GroupMember, Seen, read_everything
from tools.chaos.ledger import Ledger, longest_silences
from tools.chaos.load import SteadyProducer
from tools.chaos.plan import LONG_RUN_S, Kind, every_kind, least_faults, plan_faults
from tools.chaos.record_check import check_records
from tools.chaos.replicas import compare_replicas
from tools.chaos.report import MIN_RATE, Report
from tools.chaos.still_topics import StillTopics
from tools.chaos.stores import STORES, Store
from tools.chaos.writers.one_writer import check_writers

TOPIC = "chaos"
PARTITIONS = 6
BROKERS = 3
SESSION_S = 6.0
PRODUCERS = 2
MEMBERS = 2
CHANGERS = 2  # of each kind
_ANSWER_TIMEOUT_S = 60.0
_READ_TIMEOUT_S = 60.0
_AGREE_TIMEOUT_S = 20.0

OVERRIDES = {
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "10",
    "group.initial.rebalance.delay.ms": "500",
    "leader.imbalance.check.interval.seconds": "5",
    "signalbox.metrics.http.port": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{USER}",
    **LOGIN_SETTINGS,
}


@dataclass(frozen=True, slots=True)
class Options:
    """`store` is one of `STORES`; `folder` is emptied; `with_bank`: with transfers in transactions."""

    seed: int
    duration_s: float
    folder: Path
    store: str = "sqlite"
    with_bank: bool = False


class Run:
    """`say` receives a line of progress at a time."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._duration_s, self._folder, self._store = options.duration_s, options.folder, options.store
        self._with_bank = options.with_bank
        self._say = say
        self._is_long = options.duration_s >= LONG_RUN_S
        kinds = frozenset(kind.value for kind in every_kind(options.store)) if self._is_long else frozenset()
        self._report = Report(options.seed, SESSION_S, every_kind=kinds, with_bank=options.with_bank)
        self._ledger = Ledger()
        self._found: dict[int, list[tuple[int, Any]]] = {}
        self._seen: Seen = {}
        self._destroyed: list[DestroyedTopic] = []
        self._bank_history: BankHistory | None = None

    def run(self) -> Report:
        """The report; violations are in it, not raised."""
        shutil.rmtree(self._folder, ignore_errors=True)
        session_ms = int(SESSION_S * 1000)
        with SwitchboardProcess() as board, STORES[self._store](self._folder, session_ms, board) as store:
            ports = Network.ports_needed(BROKERS)
            first_port = consecutive_ports(2 * ports, Random())
            network = Network(board, BROKERS, first_port, first_port + ports)
            cluster = BrokersOfSession(
                self._folder,
                BROKERS,
                first_port=first_port,
                overrides=OVERRIDES | (bank.OVERRIDES if self._with_bank else {}) | store.settings,
                per_broker={node: network.settings[node] | store.per_broker.get(node, {}) for node in network.settings},
                module=store.module,
            )
            try:
                with cluster:
                    self._create_topic(cluster)
                    self._under_load(cluster, store, network)
            except (ClusterFailed, ClusterUnhealthy, TimeoutError) as error:
                self._violated(str(error))
            self._check(cluster, store)
        return self._report

    def _create_topic(self, cluster: ProcessCluster) -> None:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        config = {"min.insync.replicas": "2", "segment.bytes": str(1 << 20)}
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, replication_factor=BROKERS, config=config)])[TOPIC].result(30)

    def _under_load(self, cluster: ProcessCluster, store: Store, network: Network) -> None:
        bootstrap = cluster.bootstrap()
        members = made_yielding(
            lambda: [GroupMember(f"chaos-member-{number}", bootstrap, TOPIC) for number in range(MEMBERS)]
        )
        rate = MIN_RATE * 2 / PRODUCERS
        producers = made_yielding(
            lambda: [SteadyProducer(number, bootstrap, TOPIC, rate, self._ledger) for number in range(PRODUCERS)]
        )
        addresses = [broker.address("LOGIN") for broker in cluster.brokers.values()]
        changers = [
            SteadyChanger(number, kind, lambda: addresses, self._report.seed)
            for kind in all_kinds()
            for number in range(CHANGERS)
        ]
        with ExitStack() as stack:
            state = stack.enter_context(store.state())
            for member in members:
                member.start()
                stack.callback(self._end, member)
            started_s = time.monotonic()
            banks = [Bank(bootstrap, BROKERS, self._report.seed)] if self._with_bank else []
            for producer in producers:
                producer.start()
            for each in banks:
                each.start()
            for changer in changers:
                changer.start()
            power, topics = Power(cluster, network), StillTopics(changers, state)
            destroyed = DestroyedCopies(power, topics, Random(self._report.seed))
            self._destroyed = destroyed.topics
            acts = {
                **network_faults(network, cluster),
                **store.acts(cluster),
                **directory_faults(power, topics, TOPIC, Random(self._report.seed)),
                **descriptor_faults(cluster),
                **destroyed.acts(),
                **StoreRestored(power, state, store.back_up, topics).acts(),
            }
            injector = FaultInjector(cluster, state, TOPIC, started_s, acts)
            answer_timeout_s = _ANSWER_TIMEOUT_S
            try:
                self._inject_faults(injector, started_s)
            except (KeyboardInterrupt, SystemExit):
                answer_timeout_s = 0.0  # no report is needed any more
                raise
            finally:
                for changer in changers:
                    changer.stop()
                unanswered = {producer: producer.stop(answer_timeout_s) for producer in producers}
                self._report.seconds = time.monotonic() - started_s
                self._report.acknowledged = len(self._ledger.acknowledged)
                for number, (producer, count) in enumerate(unanswered.items()):
                    if count and answer_timeout_s:
                        self._unanswered(number, producer, count)
                for each in banks:
                    each.stop(answer_timeout_s)
            injector.wait_until_healthy()
            for each in banks:
                self._bank_history = each.history(_READ_TIMEOUT_S)
                self._report.transaction_version = each.transaction_version
                self._report.violations += each.violations
            self._found = read_everything(cluster.bootstrap(), TOPIC, PARTITIONS, _READ_TIMEOUT_S)
            for topic in self._destroyed:
                topic.found = read_everything(cluster.bootstrap(), topic.name, DESTROYED_PARTITIONS, _READ_TIMEOUT_S)
            self._wait_for_group(members)
            brokers = {node_id: broker.address("LOGIN") for node_id, broker in cluster.brokers.items()}
            self._report.changes = check_until_consistent(changers, state, brokers, _AGREE_TIMEOUT_S)

    def _inject_faults(self, injector: FaultInjector, started_s: float) -> None:
        """Injects faults as long as the run lasts, and in any case until all required faults have occurred."""
        time.sleep(1.0)
        injector.wait_until_healthy()
        least = least_faults(self._store, is_long=self._is_long)
        faults = plan_faults(self._report.seed, SESSION_S, self._store, is_long=self._is_long)
        for number, fault in enumerate(faults):
            if number >= least and time.monotonic() - started_s > self._duration_s:
                return
            begun_s = time.monotonic()
            done = injector.inject(fault)
            time.sleep(fault.gap_s)
            done.silences_s = tuple(
                longest_silences(
                    [list(times) for times in list(self._ledger.times.values())], begun_s, time.monotonic()
                )
            )
            self._report.faults.append(done)
            self._say(done.line(len(self._ledger.acknowledged)))

    def _unanswered(self, number: int, producer: SteadyProducer, count: int) -> None:
        """Records without an answer are a violation; says whether only their client reaches no broker."""
        text = f"producer {number}: {count} records had no answer {_ANSWER_TIMEOUT_S:.0f} s after the last fault"
        self._violated(f"{text}; {LOST}" if producer.has_lost_its_brokers() else text)

    def _end(self, member: GroupMember) -> None:
        if not member.stop():
            self._say(f"{member.name}: its client does not come to an end; what it has read counts")

    def _wait_for_group(self, members: list[GroupMember]) -> None:
        """At least once: every record in the log must be seen by some member."""
        places = {(partition, offset) for partition, rows in self._found.items() for offset, _ in rows}
        deadline = time.monotonic() + _READ_TIMEOUT_S
        while time.monotonic() < deadline:
            self._seen = {place: record for member in members for place, record in list(member.seen.items())}
            if places <= self._seen.keys():
                break
            time.sleep(0.2)
        self._report.group_saw = len(self._seen)
        self._report.group_repeats = sum(len(member.seen) + member.repeated for member in members) - len(self._seen)
        for member in members:
            for text in member.contradictions[:3]:
                self._violated(f"the group read two things at one place: {text}")

    # Checks

    def _check(self, cluster: ProcessCluster, store: Store) -> None:
        report = self._report
        for text in self._ledger.rejected[:5]:
            self._violated(f"a record was given up by its producer: {text}")
        if self._found:
            records = report.records = check_records(self._ledger.acknowledged, self._found, self._seen)
            losses = [loss for broker in cluster.brokers.values() for loss in logged_losses(broker.log_file)]
            report.destroyed = check_destroyed(self._destroyed, losses)
            for example in (*records.examples, *report.destroyed.examples):
                self._violated(example)
        for changes in report.changes:
            for example in changes.examples:
                self._violated(example)
        if self._bank_history is not None:
            report.bank = check_bank(self._bank_history)
            report.violations += report.bank.examples
        report.writers = check_writers(
            store.history(), Kind.STORE_RESTORED.value in {each.kind for each in report.faults}
        )
        for intruder in report.writers.intruders:
            self._violated(f"two writers: {intruder}")
        self._check_disks(cluster)
        report.violations += report.shortfalls()
        for node_id, broker in cluster.brokers.items():
            if broker.running:
                self._violated(f"broker {node_id} still runs")
            for trouble in troubles(broker.log_file, {fault.kind for fault in report.faults}):
                self._violated(f"broker {node_id}'s log: {trouble}")
            report.noise[node_id] = noisiest(broker.log_file)

    def _check_disks(self, cluster: ProcessCluster) -> None:
        comparison = compare_replicas(
            {broker.folder.name: broker.folder / "data" for broker in cluster.brokers.values()}, bank.COMPACTED
        )
        self._report.comparison = comparison
        for difference in comparison.differences:
            self._violated(difference)
        for (topic, partition), mark in comparison.high_watermarks.items():
            rows = self._found.get(partition)
            if topic == TOPIC and rows and mark < rows[-1][0] + 1:
                self._violated(f"{topic}-{partition}: a replica's high watermark is {mark}, read up to {rows[-1][0]}")

    def _violated(self, text: str) -> None:
        self._report.violations.append(text)
