"""A cluster for tests of any client, whose routes and answers can be made wrong on purpose (SPEC R7).

    with KafkaCluster(ClusterOptions(topics={"orders": 3})) as cluster:
        producer = Producer(cluster.client_config().librdkafka())
        with cluster.faults(SwapAddresses(1, 2)):
            ...

Two addresses lead to each broker, both lines of a switchboard: one for `bootstrap_servers`, and the advertised one.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from signalbox.client.sync.sync_client import SyncClient
from signalbox.testing.cluster import Cluster
from signalbox.testing.faults.applied_faults import AppliedFaults, FaultSet
from signalbox.testing.faults.fault import Fault, address_line
from signalbox.testing.free_ports import free_ports
from signalbox.testing.kafka_cluster.acl_texts import acls_of, create_acls
from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles, write_certificates
from signalbox.testing.kafka_cluster.client_config import ClientConfig
from signalbox.testing.kafka_cluster.cluster_options import CLIENT_LISTENER, OWN_LISTENERS, ClusterOptions
from signalbox.testing.kafka_cluster.listener_properties import of_all, of_broker
from signalbox.testing.kafka_cluster.topics import Topics
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.switchboard_line import Target
from signalbox.testing.switchboard_thread import SwitchboardThread
from signalbox.testing.wire.request_rule import LOG_LENGTH, LineRules, SeenRequest
from signalbox.testing.wire.topic_entries import TopicNames

_SHOWN_REQUESTS = 20


class KafkaCluster:
    """Started by `start` or a `with` block. `client` and `topics` are the kit's own access, which no fault concerns."""

    client: SyncClient
    topics: Topics
    switchboard: SwitchboardThread
    brokers: Cluster | ProcessCluster

    def __init__(self, options: ClusterOptions | None = None) -> None:
        self.options = options or ClusterOptions()
        self.node_ids = tuple(range(1, self.options.brokers + 1))
        self._listeners = (*OWN_LISTENERS, *self.options.listeners)
        self._stack = ExitStack()
        self._ports: dict[int, dict[str, int]] = {}
        self._log: deque[SeenRequest] = deque(maxlen=LOG_LENGTH)
        self._topic_names: TopicNames = {}
        self._certificates: CertificateFiles | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when every broker is ready and the topics are created. RuntimeError or ValueError says why not."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="signalbox-")))
            self._certificates = write_certificates(folder) if self.options.has_tls else None
            self.switchboard = stack.enter_context(SwitchboardThread())
            self._faults = FaultSet(self.switchboard)
            ports = free_ports(len(self._listeners) * self.options.brokers)
            per_broker = {node_id: self._add_broker(node_id, ports) for node_id in self.node_ids}
            self.switchboard.reach_brokers_at(self._kit_addresses())
            self.brokers = self._made(folder, per_broker)
            stack.callback(self.brokers.stop)
            self.brokers.start()
            self.client = stack.enter_context(SyncClient.of(self._kit_addresses()))
            self.topics = Topics(self.client, self.options.brokers)
            for name, partitions in self.options.topics.items():
                self.topics.create(name, partitions)
            if self.options.acls:
                self.client.call(partial(create_acls, self.client.admin), acls_of(self.options.acls))
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Stops the brokers and deletes their data; a second call does nothing."""
        self._stack.pop_all().close()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,...` of an address of each broker, apart from the advertised ones."""
        lines = [self.switchboard.line(address_line(node_id, bootstrap=True)) for node_id in self.node_ids]
        return ",".join(f"{host}:{port}" for host, port in (line.address for line in lines))

    @property
    def cluster_id(self) -> str:
        return str(self.client.call(self.client.admin.describe_cluster).cluster_id)

    def client_config(
        self, user: str | None = None, bootstrap_servers: str | None = None, listener: str = CLIENT_LISTENER
    ) -> ClientConfig:
        """What a client needs to connect to a listener of clients; `user` is one of the options' users, the first one
        if it is None."""
        options = self.options
        security = options.protocols[listener]
        has_sasl = security.startswith("SASL")
        name = user if user is not None else next(iter(options.users), "")
        return ClientConfig(
            bootstrap_servers=bootstrap_servers or self._bootstrap(listener),
            security=security,
            mechanism=options.mechanism if has_sasl else "",
            user=name if has_sasl else "",
            password=options.users[name] if has_sasl else "",
            authority=self._certificates.authority if self._certificates and security.endswith("SSL") else None,
        )

    def _bootstrap(self, listener: str) -> str:
        """More listeners have their advertised addresses alone."""
        if listener == CLIENT_LISTENER:
            return self.bootstrap_servers
        return ",".join(f"{host}:{port}" for host, port in (self.advertised(node, listener) for node in self.node_ids))

    def faults(self, *faults: Fault) -> AppliedFaults:
        """Applies faults, until the end of a `with` block or `remove`. FaultConflict, ValueError."""
        return self._faults.apply(*faults)

    def heal(self) -> None:
        """Takes back every fault, resumes the brokers that were paused and starts those that were stopped, also if a
        fault cannot be taken back, whose error is raised then."""
        self._resume()
        try:
            self._faults.take_back_all()
        finally:
            for node_id in self.stopped():
                self.brokers.start_broker(node_id)

    def _resume(self) -> None:
        if not isinstance(self.brokers, Cluster):
            for node_id, broker in self.brokers.brokers.items():
                if broker.running and broker.stopped_by_signal:
                    self.brokers.resume(node_id)

    def target(self, node_id: int, listener: str = CLIENT_LISTENER) -> Target:
        """Where the addresses of a broker lead: a `to` for SendElsewhere on another cluster."""
        return "127.0.0.1", self._ports[node_id][listener]

    def advertised(self, node_id: int, listener: str = CLIENT_LISTENER) -> Target:
        """The host and port that a broker advertises to clients."""
        return self.switchboard.line(address_line(node_id, listener=listener)).address

    def stopped(self) -> list[int]:
        """The ids of the brokers that do not run."""
        if isinstance(self.brokers, Cluster):
            return [node_id for node_id in self.node_ids if node_id not in self.brokers.nodes]
        return [node_id for node_id, broker in self.brokers.brokers.items() if not broker.running]

    def requests(self, client_id: str | None = None) -> list[SeenRequest]:
        """The last 10,000 requests of clients (of one client) since `forget_requests`, in order. With TLS
        those that passed while a fault read requests."""
        return [each for each in tuple(self._log) if client_id in (None, each.client_id)]

    def forget_requests(self) -> None:
        self._log.clear()

    def describe_state(self) -> list[tuple[str, str]]:
        """What helps to understand a failed test, as titles and texts."""
        shown = [
            ("applied faults", "\n".join(map(str, self._faults.applied()))),
            ("last requests", self._last_requests()),
        ]
        return [(title, text) for title, text in (*shown, *self.broker_logs().items()) if text]

    def _last_requests(self) -> str:
        def identity(request: SeenRequest) -> str:
            return "" if request.cluster_id is None else f" expects node {request.node_id} of {request.cluster_id}"

        return "\n".join(
            f"{each.line}: {each.api.name} {each.version} of {each.client_id}{identity(each)}"
            for each in tuple(self._log)[-_SHOWN_REQUESTS:]
        )

    def broker_logs(self) -> dict[str, str]:
        """The end of each broker's log, by the broker's name; none of brokers in this process, which use `logging`."""
        if isinstance(self.brokers, Cluster):
            return {}
        return {broker.name: broker.tail() for broker in self.brokers.brokers.values()}

    def _made(self, folder: Path, per_broker: Mapping[int, Mapping[str, str]]) -> Cluster | ProcessCluster:
        options = self.options
        overrides = of_all(options, self._certificates)
        if options.processes:
            return ProcessCluster(folder, options.brokers, overrides=overrides, per_broker=per_broker)
        return Cluster(options.brokers, folder, overrides, per_broker)

    def _add_broker(self, node_id: int, ports: list[int]) -> dict[str, str]:
        first = (node_id - 1) * len(self._listeners)
        own_ports = ports[first : first + len(self._listeners)]
        self._ports[node_id] = dict(zip(self._listeners, own_ports, strict=True))
        self._add_line(address_line(node_id, bootstrap=True), node_id, CLIENT_LISTENER)
        advertised = {
            name: self._add_line(address_line(node_id, listener=name), node_id, name) for name in self.options.protocols
        }
        return of_broker(self._ports[node_id], advertised)

    def _add_line(self, name: str, node_id: int, listener: str) -> Target:
        rules = LineRules(log=self._log, topic_names=self._topic_names)
        address = self.switchboard.add_line(name, self.target(node_id, listener), rules=rules)
        if self._certificates is not None and self.options.protocols[listener].endswith("SSL"):
            self.switchboard.line(name).tls = self._certificates.line_tls()
        return address

    def _kit_addresses(self) -> str:
        return ",".join(f"127.0.0.1:{ports['KIT']}" for ports in self._ports.values())


class ClusterPool:
    """Clusters that several tests share: one for each set of options, started when it is first asked for, stopped at
    the end of the `with` block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._clusters: dict[str, KafkaCluster] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clusters.clear()
        self._stack.close()

    @property
    def made(self) -> list[KafkaCluster]:
        """The clusters that run, in the order in which they were started."""
        return list(self._clusters.values())

    def get(self, **options: Any) -> KafkaCluster:
        """The cluster with these fields of ClusterOptions; what one test changes in it, others see."""
        wanted = ClusterOptions.of(options)
        if wanted.key not in self._clusters:
            self._clusters[wanted.key] = self._stack.enter_context(KafkaCluster(wanted))
        return self._clusters[wanted.key]
