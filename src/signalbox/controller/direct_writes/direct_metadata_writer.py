"""Changes that a broker below the gate stores itself (direct metadata writes, SPEC F17), as Kafka's brokers did before
they forwarded: the same decisions as the controller's, based on a new read of the store.

Each change is one atomic commit. It checks the controller epoch, so that a broker with a fenced view never writes, and
the metadata change log, so that no writer overwrites a change that it has not read; the store rejects a broker whose
session has ended. The second of two writers reads and decides again. Brokers get the change by the usual change
notifications. The rest (leaders for a new topic, elections) is done by the controller, which reads what was changed
(`shared_metadata.py`).

`direct_changes.py` lists these APIs and what each decision reads.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from signalbox.common.clock import Clock
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.direct_writes.direct_changes import DIRECT_CHANGES
from signalbox.controller.direct_writes.metadata_change_log import commit_shared, read_change_log, shared_paths
from signalbox.controller.dispatch import DECISIONS
from signalbox.controller.error_responses import reject
from signalbox.controller.records import AclsSet, ConfigsSet, TokenRemoved, TokenSet, TopicCreated
from signalbox.controller.replay import replay
from signalbox.controller.store.loading import load_part
from signalbox.metadata import layout
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.store.concurrent_reads import both
from signalbox.metadata.store.port import (
    BadOperation,
    CommitRejected,
    Fence,
    MetadataStore,
    StoreError,
    StoreFull,
    StoreUnavailable,
    in_commits,
)
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message

log = logging.getLogger(__name__)

# Only the controller stores leaders, replicas and processes: other records of a decision are dropped.
_STORED_BY_BROKERS = (ConfigsSet, AclsSet, TokenSet, TokenRemoved, TopicCreated)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a change is retried that the store rejects or cannot store, and the pause between two tries."""

    clock: Clock
    timeout_ms: int
    pause: Callable[[], Awaitable[None]]


class DirectMetadataWriter:
    """One per broker below the gate."""

    def __init__(
        self, node_id: int, store: MetadataStore, inputs: Inputs, cache: MetadataCache, patience: Patience
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._inputs = inputs
        self._cache = cache
        self._patience = patience

    async def handle(self, api_key: int, request: Any) -> Message:
        """The response, once the change is stored; REQUEST_TIMED_OUT in the API's response if it could not be stored
        in time, and KAFKA_STORAGE_ERROR at once if the store has no room for it."""
        patience, key = self._patience, ApiKey(api_key)
        deadline = patience.clock.monotonic() + patience.timeout_ms / 1000
        while True:
            try:
                decision = await self._try(key, request)
            except BadOperation as bad:
                log.warning("Metadata change rejected, its records cannot be stored (api=%s): %s", key.name, bad)
                return reject(key, request, Error.INVALID_REQUEST)
            except CommitRejected as rejected:
                log.debug("%s is retried: %s", key.name, rejected)
            except StoreFull as full:
                log.warning("Metadata change rejected, the metadata store is full (api=%s): %s", key.name, full)
                return reject(key, request, Error.KAFKA_STORAGE_ERROR, str(full))
            except (StoreError, BadEntry) as error:
                log.warning("Metadata change not stored and retried (api=%s): %s", key.name, error)
                await patience.pause()
            else:
                return await self._answer(decision, deadline)
            if patience.clock.monotonic() > deadline:
                return reject(key, request, Error.REQUEST_TIMED_OUT)

    async def _try(self, key: ApiKey, request: Any) -> Decision:
        """Read, decide, store."""
        store = self._store
        epoch, shared = await both(store.read(layout.CONTROLLER_EPOCH), read_change_log(store))
        if epoch is None:
            raise StoreError("there has been no controller yet")
        fence = Fence(layout.CONTROLLER_EPOCH, epoch.version)
        part = await load_part(store, self._node_id, DIRECT_CHANGES[key].looks_at(request))
        decision = DECISIONS[key](part, self._inputs, request)
        records = [record for record in decision.records if isinstance(record, _STORED_BY_BROKERS)]
        _, operations = replay(part, records)
        # As with the controller's: a response that changes nothing is checked against the fence, too.
        for number, commit in enumerate([*in_commits(operations, store.max_commit_bytes)] or [[]]):
            try:
                shared = await commit_shared(store, commit, fence, shared, shared_paths(commit))
            except StoreFull as full:
                if number:
                    raise StoreUnavailable(f"only a part of the change is stored: {full}") from full
                raise
        return decision

    async def _answer(self, decision: Decision, deadline: float) -> Message:
        """The response for a new topic is returned when its partitions have leaders, as the controller does."""
        assert decision.response is not None
        visibility = decision.visibility
        if visibility is None:
            return decision.response
        left_s = max(0.0, deadline - self._patience.clock.monotonic())
        in_time = await self._cache.wait_until(visibility.holds, min(left_s, visibility.timeout_ms / 1000))
        return decision.response if in_time else visibility.when_late()
