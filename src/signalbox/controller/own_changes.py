"""Changes that a broker below the gate of the roll-out stores by itself (SPEC F17), as Kafka's brokers did before they
forwarded: the same decisions as the controller's, taken on a fresh look at the store.

Everything is one atomic commit that checks the controller epoch, so that a broker whose view is fenced never writes,
and the shared changes, so that nobody overwrites what they have not seen; a broker whose session has ended is refused
by the store. Whoever comes second looks and decides again. What brokers are told of it they are told by the usual
change notifications; the rest (leaders for a new topic, elections) is the controller's, which reads what was changed
(`shared_metadata.py`).

`OWN_CHANGES` says which APIs these are and what each decision looks at: a new one is one row.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from signalbox.common.clock import Clock
from signalbox.controller.config_resource import ResourceType
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.dispatch import DECISIONS
from signalbox.controller.loading import load_part
from signalbox.controller.records import AclsSet, ConfigsSet, TokenRemoved, TokenSet, TopicCreated
from signalbox.controller.refusals import refuse
from signalbox.controller.replay import replay
from signalbox.controller.shared_commit import commit_shared
from signalbox.controller.topic_name import refuse_topic_name
from signalbox.metadata import layout
from signalbox.metadata.acl_entries import ROOT_OF
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.shared_changes import decode_shared_changes, shared_paths
from signalbox.metadata.store.port import (
    BadOperation,
    CommitRefused,
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

# Leaders, replicas and processes are the controller's business, whatever a decision would like to do about them.
_STORED_BY_BROKERS = (ConfigsSet, AclsSet, TokenSet, TokenRemoved, TopicCreated)


@dataclass(frozen=True, slots=True)
class OwnChange:
    """`looks_at`: subtrees of the store that hold all a decision on a request needs. `for_clients`: whether clients may
    ask any broker for it; otherwise it is what a broker does of its own accord."""

    looks_at: Callable[[Any], Iterator[str]]
    for_clients: bool = True


def _resources(request: Any) -> Iterator[str]:
    """Of AlterConfigs and IncrementalAlterConfigs."""
    for each in request.resources:
        name = each.resource_name
        if each.resource_type == ResourceType.TOPIC and not refuse_topic_name(name):
            yield layout.topic_path(name)
            yield f"{layout.CONFIG}/topics/{name}"
    if any(each.resource_type == ResourceType.BROKER for each in request.resources):
        yield f"{layout.CONFIG}/brokers"
        yield layout.BROKER_IDS


def _acls(request: Any) -> Iterator[str]:
    yield from ROOT_OF.values()


def _quotas(request: Any) -> Iterator[str]:
    for kind in ("users", "clients", "ips"):
        yield f"{layout.CONFIG}/{kind}"


def _users(request: Any) -> Iterator[str]:
    yield f"{layout.CONFIG}/users"


def _tokens(request: Any) -> Iterator[str]:
    yield layout.DELEGATION_TOKENS


def _new_topics(request: Any) -> Iterator[str]:
    """Of CreateTopics: brokers and their configs to place it by, and what may be left of a topic of that name."""
    yield layout.BROKER_IDS
    yield f"{layout.CONFIG}/brokers"
    for topic in request.topics:
        if not refuse_topic_name(topic.name):
            yield f"{layout.CONFIG}/topics/{topic.name}"


OWN_CHANGES: dict[ApiKey, OwnChange] = {
    ApiKey.ALTER_CONFIGS: OwnChange(_resources),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: OwnChange(_resources),
    ApiKey.CREATE_ACLS: OwnChange(_acls),
    ApiKey.DELETE_ACLS: OwnChange(_acls),
    ApiKey.ALTER_CLIENT_QUOTAS: OwnChange(_quotas),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: OwnChange(_users),
    ApiKey.CREATE_DELEGATION_TOKEN: OwnChange(_tokens),
    ApiKey.RENEW_DELEGATION_TOKEN: OwnChange(_tokens),
    ApiKey.EXPIRE_DELEGATION_TOKEN: OwnChange(_tokens),
    ApiKey.CREATE_TOPICS: OwnChange(_new_topics, for_clients=False),
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try a change again that the store refuses or does not take, and the wait between two tries."""

    clock: Clock
    timeout_ms: int
    pause: Callable[[], Awaitable[None]]


class OwnChanges:
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
        """The answer, once the change is stored; REQUEST_TIMED_OUT in the API's shape when it could not be in time, and
        KAFKA_STORAGE_ERROR at once when the store has no room for it."""
        patience, key = self._patience, ApiKey(api_key)
        deadline = patience.clock.monotonic() + patience.timeout_ms / 1000
        while True:
            try:
                decision = await self._try(key, request)
            except BadOperation as bad:
                log.warning("%s is refused, its outcome cannot be stored: %s", key.name, bad)
                return refuse(key, request, Error.INVALID_REQUEST)
            except CommitRefused as refused:
                log.debug("%s is decided again: %s", key.name, refused)
            except StoreFull as full:
                log.warning("%s is refused: %s", key.name, full)
                return refuse(key, request, Error.KAFKA_STORAGE_ERROR, str(full))
            except (StoreError, BadEntry) as error:
                log.warning("%s could not be stored: %s", key.name, error)
                await patience.pause()
            else:
                return await self._answer(decision, deadline)
            if patience.clock.monotonic() > deadline:
                return refuse(key, request, Error.REQUEST_TIMED_OUT)

    async def _try(self, key: ApiKey, request: Any) -> Decision:
        """Look, decide, store."""
        store = self._store
        epoch = await store.read(layout.CONTROLLER_EPOCH)
        if epoch is None:
            raise StoreError("there has been no controller yet")
        fence = Fence(layout.CONTROLLER_EPOCH, epoch.version)
        shared = decode_shared_changes(await store.read(layout.SHARED_CHANGES))
        part = await load_part(store, self._node_id, OWN_CHANGES[key].looks_at(request))
        decision = DECISIONS[key](part, self._inputs, request)
        records = [record for record in decision.records if isinstance(record, _STORED_BY_BROKERS)]
        _, operations = replay(part, records)
        # As with the controller's, an answer that changes nothing is checked against the fence too.
        for number, commit in enumerate([*in_commits(operations, store.max_commit_bytes)] or [[]]):
            try:
                shared = await commit_shared(store, commit, fence, shared, shared_paths(commit))
            except StoreFull as full:
                if number:
                    raise StoreUnavailable(f"only a part of the change is stored: {full}") from full
                raise
        return decision

    async def _answer(self, decision: Decision, deadline: float) -> Message:
        """A new topic is answered when its partitions have leaders, as the controller would."""
        assert decision.response is not None
        visibility = decision.visibility
        if visibility is None:
            return decision.response
        left_s = max(0.0, deadline - self._patience.clock.monotonic())
        in_time = await self._cache.wait_until(visibility.holds, min(left_s, visibility.timeout_ms / 1000))
        return decision.response if in_time else visibility.when_late()
