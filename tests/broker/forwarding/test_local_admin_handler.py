"""Below the gate nothing is forwarded: a broker stores some changes by a direct metadata write and rejects the others
with NOT_CONTROLLER."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.forwarding.local_admin_handler import DirectTopicWriter, DirectWriter, LocalAdminRequests
from signalbox.broker.routes import ROUTES, Route
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasResponse
from signalbox.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.handler_requests import context, request_of

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
    return asyncio.run(DirectWriter(controller, own, STORED).handle(api_key, "a request", context()))


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
    assert DirectWriter(controller, own, STORED).is_active
    assert not DirectWriter(Recording(), own, STORED).is_active


def test_topics_that_a_broker_needs_are_never_anybody_elses_business() -> None:
    controller, own = Recording(), Recording()
    creation = DirectTopicWriter(controller, own, {ApiKey.CREATE_TOPICS})
    assert creation.is_active
    assert asyncio.run(creation.handle(ApiKey.CREATE_TOPICS, "a request", context())) is own.answer


@pytest.mark.parametrize(
    "body",
    [
        CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")]),
        DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t")]),
        CreatePartitionsRequest(topics=[CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=3)]),
    ],
)
def test_topic_changes_are_always_the_controllers(body: Any) -> None:
    """As in Kafka, before authorization: the handler is not called."""
    response: Any = asyncio.run(LocalAdminRequests().forward(request_of(body, API_TABLE[body.api_key].max_version)))
    rows = [row for name in ("topics", "responses", "results") for row in getattr(response, name, ())]
    assert [(row.name, row.error_code) for row in rows] == [("t", Error.NOT_CONTROLLER)]


@pytest.mark.parametrize("later", [True, False])
def test_the_rest_is_its_handlers_business(later: bool) -> None:
    response = CreateAclsResponse()

    async def in_time() -> Any:
        return response

    row = next(row for row in ROUTES if row.api_key is ApiKey.CREATE_ACLS)
    requests = LocalAdminRequests()
    requests.install({int(row.api_key): Route(row, lambda request: in_time() if later else response)})
    assert asyncio.run(requests.forward(request_of(CreateAclsRequest(), 2))) is response
