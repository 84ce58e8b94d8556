"""The walks of docs/architecture.md, and the functions that a running cluster calls for the same requests.

A walk is a table of files and functions in the order of calls. The recording has every call of the package in the
cluster's event loop, the other work of the brokers too; so it must contain the walk, in its order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import signalbox
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.cluster import Cluster
from tests.system.wire import Wire

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
_PACKAGE = f"{Path(signalbox.__file__).parent}/"
_TOPIC = "walked"
_TITLE = re.compile(r"^### Walk: (.*)$")
_ROW = re.compile(r"^\| `([a-z0-9_/]+\.py)` \| `([A-Za-z0-9_.]+)` \|")
_COUNT = re.compile(r"^(\d+) files")


class Step(NamedTuple):
    """A function of the walk: the file below `src/signalbox`, and its qualified name."""

    file: str
    function: str


class Walk(NamedTuple):
    """`files_on_page`: the number of files that the page states."""

    steps: list[Step]
    files_on_page: int


def read_walks(text: str) -> dict[str, Walk]:
    """The walks of the page, by title."""
    walks: dict[str, Walk] = {}
    steps: list[Step] = []
    title, files = "", 0
    for line in [*text.splitlines(), "## end"]:
        if line.startswith("#"):
            if title:
                walks[title] = Walk(steps, files)
            found = _TITLE.match(line)
            title, steps, files = (found[1] if found else ""), [], 0
        elif row := _ROW.match(line):
            steps.append(Step(row[1], row[2]))
        elif count := _COUNT.match(line):
            files = int(count[1])
    return walks


def first_missing(walk: Sequence[Step], calls: Sequence[Step]) -> str:
    """The first step that the calls do not have after the steps before it; "" if there is none."""
    at = 0
    for step in walk:
        try:
            at = calls.index(step, at) + 1
        except ValueError:
            when = "is called before the step above it only" if step in calls else "is not called"
            return f"{step.file} {step.function} {when}"
    return ""


class Recorder:
    """Records the calls of a cluster's event loop while it answers a request."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._calls: list[Step] = []

    def calls_of(self, request: Callable[[], object]) -> list[Step]:
        """The functions of the package that are called until `request` has its response."""
        self._calls = []
        self._cluster.run(self._set(self._note))
        try:
            request()
        finally:
            self._cluster.run(self._set(None))
        return self._calls

    async def _set(self, profiler: Callable[[FrameType, str, Any], None] | None) -> None:
        sys.setprofile(profiler)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGE):
            self._calls.append(Step(code.co_filename.removeprefix(_PACKAGE), code.co_qualname))


def record_walks() -> dict[str, list[Step]]:
    """The calls of a new cluster of three brokers, by the title of the walk. Requests of the same kind come first, so
    that nothing is compiled or connected in between."""
    with Cluster(brokers=3, overrides={"signalbox.audit.enable": "false"}) as cluster:
        listeners = {number: str(node.describe()["listeners"]["CLIENT"]) for number, node in cluster.nodes.items()}
        wires = {number: Wire(address) for number, address in listeners.items()}
        recorder, calls = Recorder(cluster), {}
        other = next(
            wires[number] for number, node in cluster.nodes.items() if not node.components.controller.is_active
        )
        _create(other, "first")
        calls["CreateTopics through an Envelope"] = recorder.calls_of(lambda: _create(other, _TOPIC))
        asked = [MetadataRequest.MetadataRequestTopic(name=_TOPIC)]
        metadata = wires[1].ask(ApiKey.METADATA, 9, MetadataRequest(topics=asked))
        leader = wires[metadata.topics[0].partitions[0].leader_id]
        _produce(leader)
        calls["Produce with acks=all"] = recorder.calls_of(lambda: _produce(leader))
        _fetch(leader, 0)
        calls["Fetch of a consumer"] = recorder.calls_of(lambda: _fetch(leader, 1))
        for wire in wires.values():
            wire.__exit__()
        return calls


def _create(wire: Wire, name: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=3)
    response = wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=30_000))
    assert response.topics[0].error_code == 0


def _produce(wire: Wire) -> None:
    """Version 6, which the fast path does not serve."""
    records = encode_batch([Record(value=b"value")])
    partition = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name=_TOPIC, partition_data=[partition])
    response = wire.ask(ApiKey.PRODUCE, 6, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]))
    assert response.responses[0].partition_responses[0].error_code == 0


def _fetch(wire: Wire, offset: int) -> None:
    """The first request with its partition bytes: the fast path has no template yet."""
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000 + offset)
    topic = FetchRequest.FetchTopic(topic=_TOPIC, partitions=[partition])
    request = FetchRequest(max_wait_ms=30_000, min_bytes=1, max_bytes=1_000_000, topics=[topic])
    assert wire.ask(ApiKey.FETCH, 11, request).responses[0].partitions[0].records
