"""The configs of a new topic are read before the topic's first LeaderAndIsr is applied.

The notification of a config change and the controller's request use different channels and arrive in any order. A
leader that started with the defaults would for a moment acknowledge records without the topic's `min.insync.replicas`.
Kafka's brokers read the configs when they create a log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.metadata.store.port import StoreError
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest

log = logging.getLogger(__name__)

STORE_TIMEOUT_S = 5.0


class NewTopicConfigs:
    """`load` is the method of ConfigRepository."""

    def __init__(self, load: Callable[[Iterable[str]], Awaitable[None]]) -> None:
        self._load = load

    def topics(self, body: Any) -> list[str]:
        """The topics of which the request contains a new partition, sorted. Yields."""
        if not isinstance(body, LeaderAndIsrRequest):
            return []
        topics = {state.topic_name for state in body.ungrouped_partition_states if state.is_new}
        for topic in body.topic_states:
            yield_if_due()
            if any(state.is_new for state in topic.partition_states):
                topics.add(topic.topic_name)
        return sorted(topics)

    async def load(self, topics: list[str]) -> Error:
        """NONE, or REQUEST_TIMED_OUT, upon which the controller retries its request."""
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                await self._load([f"topics/{topic}" for topic in topics])
        except (StoreError, TimeoutError) as error:
            log.warning(
                "LeaderAndIsr rejected: configs of %d new topics (%s, ...) cannot be read from the metadata "
                "store (%s): the controller retries it",
                len(topics),
                topics[0],
                error or "no answer",
            )
            return Error.REQUEST_TIMED_OUT
        return Error.NONE
