"""Producer ids are allocated in blocks; no id is returned twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse

pytestmark = pytest.mark.spec("D4")


def me() -> LocalEpochs:
    epochs = LocalEpochs(1)
    epochs.registered(42)
    return epochs


class Controller:
    """Allocates blocks of three ids; the first requests get `troubles`."""

    def __init__(self, *troubles: Any) -> None:
        self._troubles = list(troubles)
        self.asked: list[tuple[int, int]] = []
        self._start = 0

    async def request(self, message: Any, timeout_ms: int) -> Any:
        self.asked.append((message.broker_id, message.broker_epoch))
        await asyncio.sleep(0)
        if self._troubles:
            trouble = self._troubles.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        start, self._start = self._start, self._start + 3
        return AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=3)


def test_many_at_once_share_blocks_without_a_repeat() -> None:
    async def scenario() -> None:
        controller = Controller()
        blocks = ProducerIdBlocks(controller, me(), 1000)  # type: ignore[arg-type]
        found = await asyncio.gather(*(blocks.next() for _ in range(7)))
        assert sorted(found) == list(range(7))
        assert controller.asked == [(1, 42)] * 3

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "trouble", [KafkaError(Error.REQUEST_TIMED_OUT), AllocateProducerIdsResponse(error_code=Error.STALE_BROKER_EPOCH)]
)
def test_no_block_is_retriable_and_the_next_asks_again(trouble: Any) -> None:
    async def scenario() -> None:
        blocks = ProducerIdBlocks(Controller(trouble), me(), 1000)  # type: ignore[arg-type]
        with pytest.raises(KafkaError) as rejected:
            await blocks.next()
        assert rejected.value.error is Error.COORDINATOR_LOAD_IN_PROGRESS
        assert await blocks.next() == 0

    asyncio.run(scenario())


def test_all_that_wait_get_the_error_of_one_request() -> None:
    """Without a controller a request lasts for its whole timeout: one after the other, the last one would wait long."""

    async def scenario() -> None:
        controller = Controller(KafkaError(Error.REQUEST_TIMED_OUT))
        blocks = ProducerIdBlocks(controller, me(), 1000)  # type: ignore[arg-type]
        results = await asyncio.gather(*(blocks.next() for _ in range(3)), return_exceptions=True)
        errors = [result.error for result in results if isinstance(result, KafkaError)]
        assert errors == [Error.COORDINATOR_LOAD_IN_PROGRESS] * 3
        assert len(controller.asked) == 1

    asyncio.run(scenario())
