from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, settle, transcript

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest

pytestmark = pytest.mark.spec("D8")


def ask(bench: Bench, request: OffsetFetchRequest, version: int) -> BenchCall:
    return BenchCall(bench.coordinator.offset_fetch(request, CLIENT._replace(api_version=version)))


def group_of(group_id: str, topics: dict[str, list[int]] | None) -> OffsetFetchRequest.OffsetFetchRequestGroup:
    return OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
            for name, indexes in topics.items()
        ],
    )


@transcript
async def test_before_version_8_one_group_is_asked_for() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5}, metadata="m")
    await settle()
    request = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    )
    for version in range(1, 8):
        response = ask(bench, request, version).response
        assert response.encode(version)
        assert response.error_code == Error.NONE
        assert [
            (row.partition_index, row.committed_offset, row.metadata, row.error_code)
            for row in response.topics[0].partitions
        ] == [(0, 5, "m", Error.NONE), (1, -1, "", Error.NONE)]


@transcript
async def test_null_topics_ask_for_all() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("u", 3): 6})
    await settle()
    response = ask(bench, OffsetFetchRequest(group_id="g", topics=None), 7).response
    assert {topic.name: topic.partitions[0].committed_offset for topic in response.topics} == {"t": 5, "u": 6}


@transcript
async def test_several_groups_are_answered_in_their_order() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5}, group="a")
    bench.commit({("t", 0): 6}, group="b")
    await settle()
    request = OffsetFetchRequest(groups=[group_of("b", None), group_of("a", {"t": [0]}), group_of("c", {"t": [0]})])
    for version in (8, 9):
        response = ask(bench, request, version).response
        assert response.encode(version)
        assert [
            (group.group_id, group.error_code, [row.committed_offset for row in group.topics[0].partitions])
            for group in response.groups
        ] == [("b", 0, [6]), ("a", 0, [5]), ("c", 0, [-1])]


@transcript
async def test_an_unknown_group_has_no_offsets() -> None:
    bench = await Bench().start()
    response = ask(bench, OffsetFetchRequest(groups=[group_of("x", None)]), 9).response
    assert (response.groups[0].error_code, response.groups[0].topics) == (Error.NONE, [])


@transcript
async def test_topic_ids_come_back_as_they_came() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    group = group_of("g", {"t": [0]})
    assert group.topics is not None
    group.topics[0].topic_id = bytes(range(16))
    response = ask(bench, OffsetFetchRequest(groups=[group]), 10).response
    assert response.groups[0].topics[0].topic_id == bytes(range(16))
    assert response.groups[0].topics[0].partitions[0].committed_offset == 5
    assert response.encode(10)


@pytest.mark.parametrize("version", range(1, 10))
@transcript
async def test_where_the_error_of_a_whole_group_stands(version: int) -> None:
    bench = Bench()
    request = OffsetFetchRequest(
        group_id="g",
        topics=[OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])],
        groups=[group_of("g", {"t": [0]})] if version >= 8 else [],
    )
    response = ask(bench, request, version).response
    if version >= 8:
        assert response.groups[0].error_code == Error.NOT_COORDINATOR
    elif version >= 2:
        assert (response.error_code, response.topics) == (Error.NOT_COORDINATOR, [])
    else:
        assert response.topics[0].partitions[0].error_code == Error.NOT_COORDINATOR
        assert response.topics[0].partitions[0].committed_offset == -1


@transcript
async def test_a_classic_group_does_not_look_at_member_id_and_epoch() -> None:
    """As in Kafka: both are for groups of KIP-848."""
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    asked = group_of("g", {"t": [0]})
    for member_id in (leader.member_id, "unknown"):
        asked.member_id, asked.member_epoch = member_id, 1
        assert ask(bench, OffsetFetchRequest(groups=[asked]), 9).response.groups[0].error_code == Error.NONE
