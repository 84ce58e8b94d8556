"""What each story does to the addresses of the cluster; and that Signalbox's own client passes all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from signalbox.client.failures import ConnectFailed
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.testing.drill.drill import run_drill
from signalbox.testing.drill.drill_client import TOPIC, SignalboxProducer
from signalbox.testing.drill.ground import NODES, DrillGround
from signalbox.testing.drill.report import text_report
from signalbox.testing.drill.stories import STORIES, Story
from signalbox.testing.drill.story_result import StoryResult
from signalbox.testing.faults.fault import address_line
from tests.testing.faults.probes import accepts, ask, metadata_of

pytestmark = [pytest.mark.spec("R7"), pytest.mark.system]

OTHER, CLOSED, NO_NODE = "other", "closed", "none"
_HEALTHY = ([1, 2, 3], [1, 2, 3])
# By story: which node answers at the advertised addresses, and at the bootstrap addresses.
_REACHED: dict[int, tuple[list[object], list[object]]] = {
    1: ([CLOSED] * 3, [CLOSED, OTHER, OTHER]),
    2: ([1, 2, OTHER], [1, 2, 3]),
    3: ([1, 2, OTHER], [1, 2, OTHER]),
    4: ([2, 1, 3], [1, 2, 3]),
    5: ([2, 2, 3], [1, 2, 3]),
    6: ([1, 3, 3], [1, 2, 3]),
    8: ([CLOSED] * 3, [1, 2, 3]),
    9: ([CLOSED] * 3, [1, 2, 3]),
    10: ([1, 2, 3], [1, 2, 3]),
    11: ([CLOSED] * 3, [1, 2, 3]),
    12: ([1, 2, CLOSED], [1, 2, 3]),
}


@pytest.fixture(scope="module")
def ground() -> Iterator[DrillGround]:
    with DrillGround() as ground:
        yield ground


def reached(ground: DrillGround, *, bootstrap: bool) -> list[object]:
    lines = [ground.cluster.switchboard.line(address_line(node, bootstrap)) for node in NODES]
    return [_node_at(ground, line.address) for line in lines]


def _node_at(ground: DrillGround, address: tuple[str, int]) -> object:
    try:
        if accepts(address, ground.other.cluster_id, 1):
            return OTHER
        return next((node for node in NODES if accepts(address, ground.cluster.cluster_id, node)), NO_NODE)
    except ConnectFailed:
        return CLOSED


@pytest.mark.parametrize(
    "story", [story for story in STORIES if story.number in _REACHED], ids=lambda story: story.name
)
def test_where_the_addresses_lead(ground: DrillGround, story: Story) -> None:
    ground.reset()
    with ExitStack() as stack:
        story.prepare(ground, stack)
        story.cause(ground, stack)
        assert (reached(ground, bootstrap=False), reached(ground, bootstrap=True)) == _REACHED[story.number]
    assert (reached(ground, bootstrap=False), reached(ground, bootstrap=True)) == _HEALTHY


def test_one_load_balancer_begins_with_another_broker_at_each_address(ground: DrillGround) -> None:
    [story] = [story for story in STORIES if story.number == 7]
    ground.reset()
    with ExitStack() as stack:
        story.cause(ground, stack)
        lines = [ground.cluster.switchboard.line(address_line(node)) for node in NODES]
        homes = {ground.cluster.target(node): node for node in NODES}
        assert [[homes[target] for target in line.targets] for line in lines] == [[2, 3, 1], [3, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("number", "nodes"),
    [(10, {1: "0.0.0.0", 2: 2, 3: 2}), (11, {1: "moved", 2: "moved", 3: "moved"}), (12, {1: 1, 2: 2})],
)
def test_what_metadata_shows(ground: DrillGround, number: int, nodes: dict[int, object]) -> None:
    [story] = [story for story in STORIES if story.number == number]
    names: dict[tuple[str, int], object] = {ground.cluster.advertised(node): node for node in NODES}
    names |= dict.fromkeys(ground.moved.values(), "moved") | {("0.0.0.0", 1): "0.0.0.0"}
    ground.reset()
    with ExitStack() as stack:
        story.cause(ground, stack)
        bootstrap = ground.cluster.switchboard.line(address_line(1, bootstrap=True)).address
        shown = {row.node_id: names[row.host, row.port] for row in metadata_of(bootstrap).brokers}
        assert shown == nodes


def test_a_leader_moves_behind_the_proxy(ground: DrillGround) -> None:
    [story] = [story for story in STORIES if story.number == 8]
    ground.reset()
    with ExitStack() as stack:
        story.prepare(ground, stack)
        old_leader = ground.cluster.topics.leaders(TOPIC)[2]
        assert old_leader != 3
        address = ground.cluster.switchboard.line(address_line(old_leader, bootstrap=True)).address
        rows = metadata_of(address).brokers
        assert ",".join(f"{row.host}:{row.port}" for row in rows) == ground.cluster.bootstrap_servers
        story.cause(ground, stack)
        assert ground.cluster.topics.leaders(TOPIC)[2] == 3
        [produced] = ask(address, _produce(ground))
        assert produced.responses[0].partition_responses[0].error_code == Error.NOT_LEADER_OR_FOLLOWER
        leaked = [(row.node_id, row.host, row.port) for row in produced.node_endpoints]
        assert leaked == [(3, *ground.cluster.advertised(3))]


def _produce(ground: DrillGround) -> ProduceRequest:
    """A record for partition 2; the batch is not looked at by a broker that does not lead it."""
    client = ground.cluster.client
    topic_id = client.call(client.admin.describe_topics, [TOPIC])[TOPIC].topic_id
    partition = ProduceRequest.PartitionProduceData(index=2, records=b"")
    topic = ProduceRequest.TopicProduceData(topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[topic])


@pytest.fixture(scope="module")
def results() -> list[StoryResult]:
    return run_drill(SignalboxProducer, window_s=1.5, recovery_s=60)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_our_client_passes(results: list[StoryResult], story: Story) -> None:
    result = results[story.number - 1]
    assert result.passed, text_report(results)
    assert result.sent_identity
    assert (result.lost, result.repeated, result.misplaced) == (0, 0, 0)
