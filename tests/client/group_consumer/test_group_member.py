from __future__ import annotations

import pytest

from signalbox.client.group_consumer.membership import Reaction
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from tests.client.group_consumer.members import Member
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.group_consumer.test_scripted_rebalances import joining, poll_until, with_member
from tests.waiting import until_true


@pytest.mark.spec("R10")
def test_metadata_for_a_transaction_is_that_of_the_last_poll() -> None:
    """With a newer generation, or none, the coordinator would take offsets of partitions that the member has lost."""

    async def test(coordinator: ScriptedCoordinator, member: Member) -> None:
        consumer = member.consumer
        assert consumer.group_metadata() == ("g", -1, "", None)
        await poll_until(member, lambda: member.has == "0 1")
        assert consumer.group_metadata() == ("g", 1, "m-1", None)
        coordinator.fail(ApiKey.HEARTBEAT, Error.REBALANCE_IN_PROGRESS)
        await until_true(lambda: consumer._membership.needs_join)
        await consumer.poll(0)
        task = joining(member)
        assert task is not None
        await until_true(task.done)
        assert (consumer.generation, consumer.group_metadata().generation_id) == (2, 1)
        await consumer.poll(0)
        assert consumer.group_metadata() == ("g", 2, "m-1", None)
        consumer._membership.react(Reaction.REJOIN_AS_NEW)
        assert consumer.group_metadata() == ("g", 2, "m-1", None)

    with_member(test)
