"""A measured cluster of three nodes, of any implementation; and single requests to it."""

from __future__ import annotations

import socket
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.processes import cpu_seconds
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.testing.process_cluster import ProcessCluster

_READY_S, _LEADERS_S = 120.0, 60.0
Address = tuple[str, int]
# The footprint is bounded, and freed memory is taken again: a virtual machine charges several times as much for memory
# that it has not had before. The same on both sides. Six partitions with three replicas keep 0.7 to 0.9 GiB of logs.
_BOUNDED = {"segment.bytes": str(2**24), "retention.bytes": str(2**25), "file.delete.delay.ms": "100"}
RETENTION = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "0"}
_IS_CONTROLLER = b"\nkafka_controller_kafkacontroller_activecontrollercount 1"
_UNTIL_APPLIED = "signalbox_controller_brokerchannels_decisiontoleaderandisrappliedms"


class Side(ABC):
    """`addresses`: the addresses of the nodes for clients, `log_dirs`: their log directories, by id."""

    name = ""
    compiles_at_run_time = False  # True: a JVM, whose requests are dear until it has compiled what they need
    forwards_creations = True  # False: a node that is not the controller returns NOT_CONTROLLER for CreateTopics

    def __init__(self) -> None:
        self.addresses: dict[int, Address] = {}
        self.log_dirs: dict[int, Path] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Preparation that is not measured."""

    @abstractmethod
    def launch(self) -> None:
        """Starts the processes; returns when `addresses` is filled."""

    @property
    def helpers(self) -> list[int]:
        """Processes that belong to the side but are not nodes."""
        return []

    @property
    @abstractmethod
    def pids(self) -> dict[int, int]:
        """Process ids by node id."""

    @abstractmethod
    def kill(self, node_id: int) -> None:
        """SIGKILL."""

    @abstractmethod
    def restart(self, node_id: int) -> None:
        """Starts a killed node again, at its old address; it may not be up yet when this returns."""

    @abstractmethod
    def active_controller(self) -> int:
        """The real active controller, whatever metadata responses say. OSError or RuntimeError: there is none now."""

    @abstractmethod
    def stop(self) -> None:
        """Stops the processes."""

    def until_applied_ms(self, share: float) -> float | None:
        """The quantile of the last 1,024 times from a decision of the controller to a broker's response that its
        LeaderAndIsr is applied; None if the side has no such trace."""
        return None

    # -- the same for all sides

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    def cpu_seconds(self) -> float:
        """Processor time of all nodes so far."""
        return sum(cpu_seconds(pid) for pid in self.pids.values())

    def start(self) -> float:
        """Seconds from the start of the first process until every node lists all three."""
        self.prepare()
        began = time.monotonic()
        self.launch()
        for address in self.addresses.values():
            until(partial(_sees_all, address), _READY_S)
        return time.monotonic() - began

    def create_topic(self, name: str, partitions: int, replicas: int, configs: Mapping[str, str] | None = None) -> None:
        """Returns when every node shows a leader for every partition. `configs`: beside those that bound its size."""
        made = CreateTopicsRequest.CreatableTopicConfig
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            configs=[made(name=key, value=value) for key, value in {**_BOUNDED, **(configs or {})}.items()],
        )
        asked = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer = ask(self.controller, ApiKey.CREATE_TOPICS, 7, asked)
        if answer.topics[0].error_code:
            raise RuntimeError(f"{self.name}: topic {name} was rejected: {answer.topics[0].error_message}")
        for address in self.addresses.values():
            until(partial(_is_led, address, name, partitions), _LEADERS_S)

    @property
    def controller(self) -> Address:
        """The address for admin requests: the controller on ZooKeeper, any node elsewhere."""
        return self.addresses[metadata(self.addresses[1], []).controller_id]

    def leader(self, topic: str) -> int:
        """The node that leads partition 0."""
        found = metadata(self.addresses[1], [topic]).topics[0].partitions
        return int(next(partition.leader_id for partition in found if partition.partition_index == 0))


class Ours(Side):
    """Three broker processes with the defaults of `signalbox up`."""

    name = "Signalbox"

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._cluster = ProcessCluster(folder, 3, overrides={**RETENTION, **(settings or {})})

    def prepare(self) -> None:
        """Nothing: a broker creates its folders at its first start, and that is measured."""

    def launch(self) -> None:
        self._cluster.start()
        for node_id, broker in self._cluster.brokers.items():
            host, _, port = broker.address("CLIENT").rpartition(":")
            self.addresses[node_id] = (host, int(port))
            self.log_dirs[node_id] = broker.folder / "data"

    @property
    def pids(self) -> dict[int, int]:
        return {node_id: broker.process.pid for node_id, broker in self._cluster.brokers.items() if broker.process}

    def kill(self, node_id: int) -> None:
        self._cluster.kill(node_id)

    def restart(self, node_id: int) -> None:
        self._cluster.start_broker(node_id)

    def active_controller(self) -> int:
        for node_id, broker in self._cluster.brokers.items():
            if broker.running and _IS_CONTROLLER in self._page(node_id):
                return node_id
        raise RuntimeError("no broker is the controller at the moment")

    def until_applied_ms(self, share: float) -> float | None:
        wanted = f'{_UNTIL_APPLIED}{{quantile="{share}"}} '
        lines = self._page(self.active_controller()).decode().splitlines()
        return next(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))

    def metrics_pages(self) -> str:
        """The metrics pages of all nodes, one after the other."""
        return "".join(self._page(node_id).decode() for node_id in self._cluster.brokers)

    def _page(self, node_id: int) -> bytes:
        with urllib.request.urlopen(self._cluster.brokers[node_id].ready["metrics"], timeout=60) as page:
            read: bytes = page.read()
        return read

    def stop(self) -> None:
        self._cluster.stop()


class Line:
    """One connection for single requests, one in flight; `source`: the client's own address."""

    def __init__(self, address: Address, source: str = "") -> None:
        self._sock = socket.create_connection(address, timeout=30, source_address=(source, 0))
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._sock.makefile("rb")

    def ask(self, api_key: int, version: int, request: Any) -> Any:
        """The decoded response."""
        self.send(api_key, version, request)
        return self.answer(api_key, version)

    def send(self, api_key: int, version: int, request: Any) -> None:
        """Sends one request; `answer` reads the response."""
        payload = encode_request_header(api_key, version, 1, "bench") + request.encode(version)
        self._sock.sendall(len(payload).to_bytes(4) + payload)

    def answer(self, api_key: int, version: int) -> Any:
        """The decoded response."""
        answer = self._stream.read(int.from_bytes(self._stream.read(4)))
        _, body_at = decode_response_header(answer, api_key, version)
        return API_TABLE[api_key].response.decode(answer, version, body_at)

    def close(self) -> None:
        self._stream.close()
        self._sock.close()


def ask(address: Address, api_key: int, version: int, request: Any) -> Any:
    """One request on a connection of its own."""
    line = Line(address)
    try:
        return line.ask(api_key, version, request)
    finally:
        line.close()


def metadata(address: Address, topics: Sequence[str] | None) -> MetadataResponse:
    """Brokers, and the requested topics (None: all of them); the request creates no topic."""
    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer: MetadataResponse = ask(address, ApiKey.METADATA, 9, request)
    return answer


def _sees_all(address: Address) -> bool:
    return len(metadata(address, []).brokers) == 3


def _is_led(address: Address, topic: str, partitions: int) -> bool:
    found = metadata(address, [topic]).topics[0].partitions
    return len(found) == partitions and all(partition.leader_id >= 0 for partition in found)


def until(holds: Callable[[], bool], seconds: float) -> None:
    """Polls until `holds` returns true; errors of a node that is not up are ignored. RuntimeError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except (OSError, ValueError):
            pass  # not up yet
        if time.monotonic() > deadline:
            raise RuntimeError(f"not so within {seconds:.0f} s")
        time.sleep(0.02)
