from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, settle, subscription, transcript

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest

pytestmark = pytest.mark.spec("D8")


def delete(bench: Bench, topics: dict[str, list[int]], group: str = "g") -> BenchCall:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=i) for i in indexes],
            )
            for name, indexes in topics.items()
        ],
    )
    return BenchCall(bench.coordinator.offset_delete(request, CLIENT._replace(api_version=0)))


@transcript
async def test_offsets_of_a_group_without_members_go() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7})
    await settle()
    deleted = delete(bench, {"t": [0, 9], "u": [0]})
    await settle()
    assert deleted.response.error_code == Error.NONE
    assert {row.error_code for topic in deleted.response.topics for row in topic.partitions} == {Error.NONE}
    assert bench.offsets() == {("t", 1): 6}
    assert (await bench.fail_over(2)).offsets() == {("t", 1): 6}


@transcript
async def test_topics_that_members_subscribe_to_keep_theirs() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("u", 0): 7})
    await settle()
    await bench.stable_group(b"a", protocols=(("range", subscription("t")),))
    deleted = delete(bench, {"t": [0], "u": [0]})
    await settle()
    assert [topic.partitions[0].error_code for topic in deleted.response.topics] == [
        Error.GROUP_SUBSCRIBED_TO_TOPIC,
        Error.NONE,
    ]
    assert bench.offsets() == {("t", 0): 5}


@transcript
async def test_groups_that_reject() -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a", group="connect", protocol_type="connect", protocols=(("p", b""),))
    assert delete(bench, {"t": [0]}, group="").response.error_code == Error.INVALID_GROUP_ID
    assert delete(bench, {"t": [0]}, group="other").response.error_code == Error.GROUP_ID_NOT_FOUND
    assert delete(bench, {"t": [0]}, group="connect").response.error_code == Error.NON_EMPTY_GROUP


@transcript
async def test_a_commit_on_its_way_is_deleted_with_the_others() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.log.held = True
    bench.commit({("t", 1): 6})
    deleted = delete(bench, {"t": [0, 1]})
    await settle()
    bench.log.commit_all()
    await settle()
    assert deleted.response.error_code == Error.NONE
    assert bench.offsets() == {}


@transcript
async def test_offsets_of_deleted_topics_go_in_every_group() -> None:
    bench = await Bench().start()
    for group in ("a", "b"):
        bench.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7}, group=group)
    await settle()
    bench.delete_topic("t")
    bench.delete_topic("old")
    await settle()
    assert bench.offsets("a") == bench.offsets("b") == {("u", 0): 7}
