"""A forwarded change is decided once. Its response is stored with it, found by the next controller, and expires."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace

import pytest

from signalbox.common.ids import ForwardingId
from signalbox.common.limits import MAX_FORWARDED_RESPONSE_BYTES
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision
from signalbox.controller.entities.token_control import TokenRequest, create_delegation_token
from signalbox.controller.forwarded_response import ForwardedRequest, decided_once, stored_responses
from signalbox.controller.records import ConfigsSet, ForwardedResponseStored
from signalbox.controller.replay import replay
from signalbox.metadata.layout import FORWARDED, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

pytestmark = pytest.mark.spec("F5")

_Result = CreateTopicsResponse.CreatableTopicResult


def answer(name: str = "t") -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_Result(name=name, topic_id=b"i" * 16, num_partitions=3)])


def asked(number: int, settled_below: int = 1, epoch: int = 5, broker_id: int = 2, now_ms: int = 0) -> ForwardedRequest:
    forwarding_id = ForwardingId(broker_id, epoch, number, settled_below)
    return ForwardedRequest(forwarding_id, ApiKey.CREATE_TOPICS, now_ms, now_ms + 60_000)


class Deciding:
    """A decision that changes a config with each call, and counts the calls."""

    def __init__(self, response: CreateTopicsResponse | None = None) -> None:
        self.times = 0
        self.response = response or answer()

    def __call__(self, context: ControllerContext) -> Decision:
        self.times += 1
        return Decision(records=(ConfigsSet("brokers/1", {"k": str(self.times)}),), response=self.response)


def after(context: ControllerContext, decision: Decision) -> ControllerContext:
    return replay(context, decision.records)[0]


def test_a_retried_request_gets_the_same_response_and_changes_nothing() -> None:
    decide, context = Deciding(), make_context(1)
    first = decided_once(decide, asked(1))(context)
    again = decided_once(decide, asked(1))(after(context, first))
    assert (first.response, again.response, again.records) == (answer(), answer(), ())
    assert decide.times == 1
    decided_once(decide, asked(2))(after(context, first))
    assert decide.times == 2, "another request is another matter"


def test_the_next_controller_finds_it_in_the_store() -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        decide = Deciding()
        _, operations = replay(make_context(1), decided_once(decide, asked(1))(make_context(1)).records)
        await store.commit(operations)
        responses = stored_responses(await store.read_tree(FORWARDED))
        successor = replace(make_context(2), forwarded=responses)
        assert decided_once(decide, asked(1))(successor) == Decision(response=answer())
        assert decide.times == 1

    asyncio.run(scenario())


def test_no_hmac_is_stored_with_the_response_to_a_new_token() -> None:
    secret = TokenSecret("the secret")
    wanted = TokenRequest(KafkaPrincipal("User", "alice"), CreateDelegationTokenRequest(max_lifetime_ms=-1))
    first = decided_once(
        lambda context: create_delegation_token(context, inputs(secret), wanted),
        replace(asked(1), api_key=ApiKey.CREATE_DELEGATION_TOKEN),
    )(make_context(1))
    assert isinstance(first.response, CreateDelegationTokenResponse)
    token_id = first.response.token_id
    [payload] = [each.response.payload for each in first.records if isinstance(each, ForwardedResponseStored)]
    assert token_id.encode() in base64.b64decode(json.loads(payload)["response"])
    first.response.hmac = secret.hmac(token_id)  # as the handler does
    again = decided_once(Deciding(), asked(1))(after(make_context(1), first))
    assert isinstance(again.response, CreateDelegationTokenResponse)
    assert (again.response.token_id, again.response.hmac, again.records) == (token_id, b"", ())


def test_the_response_to_a_request_that_changes_nothing_is_not_stored() -> None:
    rejected = decided_once(lambda context: Decision(response=answer()), asked(1))(make_context(1))
    assert rejected.records == ()


def test_a_huge_response_is_not_stored() -> None:
    topics = [_Result(name=f"{number:0>30000}") for number in range(MAX_FORWARDED_RESPONSE_BYTES // 30_000 + 1)]
    decide = Deciding(CreateTopicsResponse(topics=topics))
    assert len(decided_once(decide, asked(1))(make_context(1)).records) == 1


@pytest.mark.parametrize(
    ("next_request", "left"),
    [
        (asked(3, settled_below=3), {(2, 5, 3)}),
        (asked(3, settled_below=2), {(2, 5, 2), (2, 5, 3)}),
        (asked(3, settled_below=1), {(2, 5, 1), (2, 5, 2), (2, 5, 3)}),
        (asked(9, settled_below=9, broker_id=3), {(2, 5, 1), (2, 5, 2), (3, 5, 9)}),
        (asked(3, settled_below=3, epoch=6), {(2, 5, 1), (2, 5, 2), (2, 6, 3)}),
        (asked(9, broker_id=3, now_ms=60_001), {(3, 5, 9)}),
    ],
)  # fmt: skip
def test_stored_responses_are_removed_when_settled_or_expired(
    next_request: ForwardedRequest, left: set[tuple[int, int, int]]
) -> None:
    decide, context = Deciding(), make_context(1)
    for number in (1, 2):
        context = after(context, decided_once(decide, asked(number))(context))
    context = after(context, decided_once(decide, next_request)(context))
    assert set(context.forwarded) == left


def test_a_corrupt_response_is_not_returned_and_expires_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        bad_data = {"1-10-1": b"[", "1-10-2": b"{}", "1-10-3": b'{"expires":"soon"}'}
        bad_names = dict.fromkeys(("x", "1-2", "01-2-3", "1-2-3-4", "-1-2-3"), b'{"expires":5}')
        await store.commit([Create(f"{FORWARDED}/{name}", data) for name, data in (bad_data | bad_names).items()])
        responses = stored_responses(await store.read_tree(FORWARDED))
        assert {key: kept.expires_ms for key, kept in responses.items()} == {(1, 10, number): 0 for number in (1, 2, 3)}
        for name in bad_data | bad_names:
            assert f"{FORWARDED}/{name} " in caplog.text

    asyncio.run(run())
