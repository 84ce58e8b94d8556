"""The classic groups among the groups of a shard; load and unload are in `test_group_shard.py`."""

from __future__ import annotations

import pytest
from tests.coordinator.bench import Bench, settle, transcript
from tests.coordinator.group.other_group import OtherGroup

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.protocol.error_table import Error, KafkaError


@transcript
async def test_a_group_of_another_type_is_no_group_of_this_type() -> None:
    bench = await Bench().start()
    bench.shard.groups.put(OtherGroup("g"))
    assert bench.heartbeat("m", 1) == Error.UNKNOWN_MEMBER_ID
    assert bench.join().response.error_code == Error.GROUP_ID_NOT_FOUND
    await settle()
    assert isinstance(bench.shard.groups.get("g"), OtherGroup)


def test_a_group_is_created_once() -> None:
    groups = GroupMap()
    classic = ClassicGroups(groups, None, None, lambda: 1)  # type: ignore[arg-type]
    group = classic.get_or_create("g")
    assert isinstance(group, ClassicGroup)
    assert (classic.get_or_create("g"), classic.get("g"), groups.get("g"), classic.get("h")) == (group,) * 3 + (None,)
    groups.put(OtherGroup("h"))
    with pytest.raises(KafkaError, match="not a classic group"):
        classic.get_or_create("h")
