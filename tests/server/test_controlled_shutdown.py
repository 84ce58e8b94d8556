"""Controlled shutdown: when the broker asks again, and when it stops without."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import pytest

from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from signalbox.server.controlled_shutdown import move_leadership
from tests.broker.handler_requests import cache_of
from tests.configuration.settings import config_of

pytestmark = pytest.mark.spec("C3")

Result = ControlledShutdownResponse | KafkaError
DONE = ControlledShutdownResponse(error_code=Error.NONE)
LEADS = ControlledShutdownResponse(
    error_code=Error.NONE,
    remaining_partitions=[ControlledShutdownResponse.RemainingPartition(topic_name="t", partition_index=0)],
)
LOST = KafkaError(Error.REQUEST_TIMED_OUT)


class Controller:
    """Gives these results, one per request."""

    def __init__(self, *results: Result) -> None:
        self._results = list(results)
        self.requests: list[ControlledShutdownRequest] = []

    async def request(self, message: ControlledShutdownRequest, timeout_ms: int) -> ControlledShutdownResponse:
        self.requests.append(message)
        result = self._results.pop(0)
        if isinstance(result, KafkaError):
            raise result
        return result


def shut_down(controller: Controller, brokers: tuple[int, ...] = (1, 2), **changes: str) -> None:
    cache = cache_of({broker: ["CLIENT"] for broker in brokers})
    config = config_of(**{"controlled__shutdown__retry__backoff__ms": "1", **changes})
    asyncio.run(move_leadership(config, 7, cast(ControllerChannel, controller), cache))


@pytest.mark.parametrize("results", [(DONE,), (LEADS, DONE), (LOST, DONE)])
def test_the_broker_asks_until_no_partition_is_led_here(results: tuple[Result, ...]) -> None:
    controller = Controller(*results)
    shut_down(controller)
    assert [(request.broker_id, request.broker_epoch) for request in controller.requests] == [(1, 7)] * len(results)


def test_it_gives_up_after_the_retries(caplog: pytest.LogCaptureFixture) -> None:
    controller = Controller(LOST, LEADS, LEADS)
    shut_down(controller, controlled__shutdown__max__retries="2")
    assert len(controller.requests) == 3
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "Proceeding to an unclean shutdown (tries=3): some partitions are still led here"
    ]


def test_the_only_live_broker_does_not_wait(caplog: pytest.LogCaptureFixture) -> None:
    controller = Controller(LEADS)
    shut_down(controller, brokers=(1,), controlled__shutdown__retry__backoff__ms="60000")
    assert len(controller.requests) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
