from __future__ import annotations

import asyncio

from tests.coordinator.bench import transcript
from tests.coordinator.memory_log import MemoryLog

from signalbox.broker.api_request import as_future
from signalbox.common.clock import SystemClock
from signalbox.common.metrics import NullMetrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.coordinator.config_rows import COORDINATOR_CONFIG
from signalbox.coordinator.group.client_context import ClientContext
from signalbox.coordinator.opening import open_group_coordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest


@transcript
async def test_a_coordinator_by_the_real_clock_serves_a_member() -> None:
    values, _ = COORDINATOR_CONFIG.read({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"})
    log = MemoryLog()
    coordinator = open_group_coordinator(
        log,
        Deadlines(SystemClock(), asyncio.get_running_loop()),
        TaskScheduler(asyncio.get_running_loop()),
        values,
        NullMetrics(),
        MetadataCache(),
    )
    partition = coordinator.partition_for("g")
    log.lead(partition, 1)
    coordinator.on_elected(partition, 1)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    client = ClientContext("c", "/127.0.0.1", 3)
    while True:
        response = await as_future(coordinator.join_group(request, client))
        if response.error_code != Error.COORDINATOR_LOAD_IN_PROGRESS:
            break
        await asyncio.sleep(0)
    assert (response.error_code, response.generation_id) == (Error.NONE, 1)
    assert response.member_id.startswith("c-")
    await as_future(coordinator.stop())
