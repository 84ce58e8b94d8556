"""All delegation tokens of the cluster, kept up to date on every broker that authenticates clients by them (SPEC F1).

Each change makes a new mapping by token id; listeners also get the ids of the tokens that were read again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.change_notifications import ChangeNotifications, Following
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS, decode_token, decode_token_change
from signalbox.metadata.layout import DELEGATION_TOKENS, TOKEN_CHANGES, create_roots, token_path
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import Entry, MetadataStore, StoreError
from signalbox.security.delegation_token import DelegationToken

log = logging.getLogger(__name__)

Tokens = Mapping[str, DelegationToken]

_MOST_READ_SINGLY = 64  # with more changed tokens all tokens are read, as one tree


class TokenRepository:
    """`changed(tokens, ids)` is called with every new mapping, the first one included."""

    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        scheduler: TaskScheduler,
        changed: Callable[[Tokens, Iterable[str]], None],
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._changed = changed
        self._tokens: Tokens = {}
        self._corrupt = CorruptEntries()
        following = Following(TOKEN_CHANGES, decode_token_change, self._load, self._load_all)
        self._changes = ChangeNotifications(store, clock, following)

    async def start(self) -> None:
        """Create the folders, load all tokens and follow the changes from then on."""
        await create_roots(self._store, TOKEN_FOLDERS)
        await self._changes.start()

    async def stop(self) -> None:
        """Stop following changes."""
        await self._changes.stop()

    async def current(self) -> Tokens:
        """The tokens with all changes stored before this call; the cached ones when the store is unavailable."""
        try:
            await self._changes.catch_up()
        except StoreError as error:
            log.warning("Cached delegation tokens are used, the metadata store is unavailable: %s", error)
        return self._tokens

    async def _load(self, token_ids: Iterable[str]) -> None:
        wanted = list(token_ids)
        if len(wanted) > _MOST_READ_SINGLY:
            await self._load_all()
            return
        entries = await read_all(self._store, map(token_path, wanted))
        await self._take(dict(zip(wanted, entries, strict=True)))

    async def _load_all(self) -> None:
        found: dict[str, Entry | None] = dict.fromkeys(self._tokens)
        for path, entry in (await self._store.read_tree(DELEGATION_TOKENS)).items():
            if path != DELEGATION_TOKENS:
                found[path.removeprefix(DELEGATION_TOKENS + "/")] = entry
        await self._take(found)

    async def _take(self, found: Mapping[str, Entry | None]) -> None:
        """Runs once at a time: the caller holds the lock of the notifications."""
        self._tokens = await self._scheduler.result_of(partial(self._with, found))
        self._changed(self._tokens, found)

    def _with(self, found: Mapping[str, Entry | None]) -> Tokens:
        """The tokens with those that were read. Yields."""
        tokens = dict(self._tokens)
        for token_id, entry in yielding(found.items()):
            tokens.pop(token_id, None)
            if entry is None:
                continue
            token = self._corrupt.read(EntryKind.TOKEN, token_path(token_id), entry.data, decode_token, None)
            if token is not None:
                tokens[token_id] = token
        return tokens
