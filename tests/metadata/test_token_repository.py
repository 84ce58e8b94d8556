"""Every broker's copy of the delegation tokens follows the notifications (SPEC F1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS, encode_token
from signalbox.metadata.layout import TOKEN_CHANGE_PREFIX, create_roots, token_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, MetadataStore, Operation, Write
from signalbox.metadata.token_repository import TokenRepository, Tokens
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import KafkaPrincipal
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.metadata.participants import run_with_stores

ALICE = KafkaPrincipal("User", "alice")


def token(token_id: str, expiry_ms: int = 2) -> DelegationToken:
    return DelegationToken(token_id, ALICE, ALICE, (), issue_ms=1, expiry_ms=expiry_ms, max_ms=9)


def create(made: DelegationToken) -> Create:
    return Create(token_path(made.token_id), encode_token(made))


async def change(store: MetadataStore, *operations: Operation) -> None:
    notifications = [
        Create(TOKEN_CHANGE_PREFIX, each.path.rpartition("/")[2].encode(), numbered=True) for each in operations
    ]
    await store.commit([*operations, *notifications])


class Followed:
    """A repository, and the tokens that it passed to its callback."""

    def __init__(self, store: MetadataStore) -> None:
        self.notified: list[Tokens] = []
        self.looked_at: list[str] = []
        self._changed = asyncio.Event()
        self.repository = TokenRepository(store, ManualClock(), ImmediateScheduler(), self._on_change)

    def _on_change(self, tokens: Tokens, token_ids: Iterable[str]) -> None:
        self.notified.append(tokens)
        self.looked_at = sorted(token_ids)
        self._changed.set()

    async def next_tokens(self) -> Tokens:
        await self._changed.wait()
        self._changed.clear()
        return self.notified[-1]


@pytest.mark.spec("F1", "M2")
def test_existing_tokens_are_loaded_and_changes_are_followed() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        await create_roots(writer, TOKEN_FOLDERS)
        await change(writer, create(token("a")))
        followed = Followed(reader)
        await followed.repository.start()
        assert await followed.next_tokens() == {"a": token("a")}
        await change(writer, create(token("b")))
        assert await followed.next_tokens() == {"a": token("a"), "b": token("b")}
        await change(writer, Write(token_path("a"), encode_token(token("a", 8))))
        assert await followed.next_tokens() == {"a": replace(token("a"), expiry_ms=8), "b": token("b")}
        await change(writer, Delete(token_path("b")))
        assert (await followed.next_tokens()).keys() == {"a"}
        assert followed.looked_at == ["b"]
        assert followed.notified[0].keys() == {"a"}, "earlier tokens are not modified"
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_the_folders_are_made_where_tokens_are_on() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        followed = Followed(store)
        await followed.repository.start()
        assert await store.children("/delegation_token") == ["token_changes", "tokens"]
        assert await followed.next_tokens() == {}
        await followed.repository.stop()

    run_with_stores(1, scenario)


def test_current_has_all_tokens_that_were_stored_before() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        many = [token(f"t{number}") for number in range(100)]
        await change(writer, *map(create, many))
        assert await followed.repository.current() == {each.token_id: each for each in many}
        await change(writer, *(Delete(token_path(each.token_id)) for each in many))
        assert await followed.repository.current() == {}
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_a_corrupt_token_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        await change(writer, create(token("a")), create(token("b")))
        await change(writer, Write(token_path("a"), b"?"))
        assert (await followed.repository.current()).keys() == {"b"}
        assert "/delegation_token/tokens/a" in caplog.text
        await followed.repository.stop()

    run_with_stores(2, scenario)
