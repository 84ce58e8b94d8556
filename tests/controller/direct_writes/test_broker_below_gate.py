"""A broker below the gate stores some changes by a direct metadata write and leaves the others to the controller, which
it shows to clients."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.controller.direct_writes.broker_below_gate import DirectTopicWriter, DirectWriter, RealController
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasResponse
from tests.broker.handler_requests import cache_of, context

pytestmark = pytest.mark.spec("F17")
STORED = {ApiKey.ALTER_CLIENT_QUOTAS}
_Entry = AlterClientQuotasResponse.EntryData


class Recording:
    """A controller or a direct metadata writer that records its requests."""

    def __init__(self, is_active: bool = False, error: Error = Error.NONE) -> None:
        self.is_active = is_active
        self.asked: list[int] = []
        self.answer = AlterClientQuotasResponse(entries=[_Entry(error_code=error)])

    async def handle(self, api_key: int, request: Any, context: Any = None) -> Any:
        self.asked.append(api_key)
        return self.answer


def asked(controller: Recording, own: Recording, api_key: ApiKey) -> Any:
    return asyncio.run(DirectWriter(controller, own.handle, STORED).handle(api_key, "a request", context()))


def test_off_the_controller_a_broker_stores_what_it_may() -> None:
    controller, own = Recording(), Recording()
    assert asked(controller, own, ApiKey.ALTER_CLIENT_QUOTAS) is own.answer
    assert asked(controller, own, ApiKey.ELECT_LEADERS) is controller.answer
    assert (controller.asked, own.asked) == ([ApiKey.ELECT_LEADERS], [ApiKey.ALTER_CLIENT_QUOTAS])


def test_the_controller_decides_itself_until_it_is_none_any_more() -> None:
    controller, own = Recording(is_active=True), Recording()
    assert asked(controller, own, ApiKey.ALTER_CLIENT_QUOTAS) is controller.answer
    assert own.asked == []
    resigning = Recording(is_active=True, error=Error.NOT_CONTROLLER)
    assert asked(resigning, own, ApiKey.ALTER_CLIENT_QUOTAS) is own.answer
    assert DirectWriter(controller, own.handle, STORED).is_active
    assert not DirectWriter(Recording(), own.handle, STORED).is_active


def test_topics_that_a_broker_needs_are_never_anybody_elses_business() -> None:
    controller, own = Recording(), Recording()
    creation = DirectTopicWriter(controller, own.handle, {ApiKey.CREATE_TOPICS})
    assert creation.is_active
    assert asyncio.run(creation.handle(ApiKey.CREATE_TOPICS, "a request", context())) is own.answer


@pytest.mark.spec("F12", "F17")
def test_below_the_gate_the_real_one_whether_it_has_the_listener_or_not() -> None:
    shown = RealController(cache_of())
    assert [shown.id_for(listener) for listener in ("CLIENT", "REPLICATION", "NOWHERE")] == [1, 1, 1]
    assert RealController(MetadataCache()).id_for("CLIENT") == -1
