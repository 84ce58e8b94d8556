"""Transactions: a producer gets its epochs, partitions and offsets join, it ends; requests of other producers; what
tools see."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question, TransactionalBatch
from tests.system.wire_diff.questions.topics import NO_SUCH_ID

_Q = Question
_TOPIC = "tx7"
_PRODUCER: dict[str, Any] = {"transactional_id": "tx", "producer_id": "$pid", "producer_epoch": "$epoch"}
_KEPT = {"pid": "producer_id", "epoch": "producer_epoch"}
_FORMER, _LATTER = (0, 4), (5,)  # versions of EndTxn with transaction version 0 and 2


def _init(what: str, name: str | None = "tx", versions: tuple[int, ...] = (), **more: Any) -> Question:
    keep = more.pop("keep", {})
    body = {"transactional_id": name, "transaction_timeout_ms": 900_000, **more}
    return _Q(ApiKey.INIT_PRODUCER_ID, what, body, versions, keep)


def _add(
    what: str, topic: str = _TOPIC, partition: int = 0, versions: tuple[int, ...] = (0, 3), **more: Any
) -> Question:
    fields = {**_PRODUCER, **more}
    body = {f"v3_and_below_{name}": value for name, value in fields.items()}
    body["v3_and_below_topics"] = [{"name": topic, "partitions": [partition]}]
    return _Q(ApiKey.ADD_PARTITIONS_TO_TXN, what, body, versions)


def _add_by_broker(what: str, verify_only: bool) -> Question:
    asked = {"verify_only": verify_only, "topics": [{"name": _TOPIC, "partitions": [0]}]}
    return _Q(ApiKey.ADD_PARTITIONS_TO_TXN, what, {"transactions": [{**_PRODUCER, **asked}]}, (4, 5))


def _add_offsets(what: str, **more: Any) -> Question:
    return _Q(ApiKey.ADD_OFFSETS_TO_TXN, what, {**_PRODUCER, "group_id": "of tx", **more})


def _commit_offsets(what: str, **more: Any) -> Question:
    topic = {"name": _TOPIC, "topic_id": "$tx7", **more.pop("topic", {})}
    asked = {"partition_index": 0, "committed_offset": 3, "committed_metadata": "m", **more.pop("asked", {})}
    body = {**_PRODUCER, "group_id": "of tx", "topics": [{**topic, "partitions": [asked]}]}
    return _Q(ApiKey.TXN_OFFSET_COMMIT, what, {**body, **more})


def _end(what: str, committed: bool, versions: tuple[int, ...], **more: Any) -> Question:
    keep = _KEPT if versions == _LATTER and more.pop("bumps", False) else {}
    return _Q(ApiKey.END_TXN, what, {**_PRODUCER, "committed": committed, **more}, versions, keep)


def _produce(what: str, batch: TransactionalBatch, name: str | None = "tx", version: int = 11) -> Question:
    data = {"name": _TOPIC, "topic_id": "$tx7", "partition_data": [{"index": 0, "records": batch}]}
    body = {"transactional_id": name, "acks": -1, "timeout_ms": 5_000, "topic_data": [data]}
    return _Q(ApiKey.PRODUCE, what, body, (version,))


def _fetch(what: str, isolation_level: int) -> Question:
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100_000}
    topic = {"topic": _TOPIC, "topic_id": "$tx7", "partitions": [asked]}
    body = {"max_wait_ms": 0, "min_bytes": 0, "isolation_level": isolation_level, "topics": [topic]}
    return _Q(ApiKey.FETCH, what, body)


def _latest(what: str, isolation_level: int) -> Question:
    topic = {"name": _TOPIC, "partitions": [{"partition_index": 0, "timestamp": -1}]}
    body = {"replica_id": -1, "isolation_level": isolation_level, "topics": [topic]}
    return _Q(ApiKey.LIST_OFFSETS, what, body, (2, 11))


def _offsets(what: str, require_stable: bool) -> Question:
    asked = {"name": _TOPIC, "partition_indexes": [0]}
    groups = [{"group_id": "of tx", "topics": [{**asked, "topic_id": "$tx7"}]}]
    body = {"group_id": "of tx", "topics": [asked], "groups": groups, "require_stable": require_stable}
    return _Q(ApiKey.OFFSET_FETCH, what, body, (7, 10))


def _describe(what: str, *names: str) -> Question:
    return _Q(ApiKey.DESCRIBE_TRANSACTIONS, what, {"transactional_ids": list(names)})


def _list(what: str, versions: tuple[int, ...] = (0, 2), **filters: Any) -> Question:
    return _Q(ApiKey.LIST_TRANSACTIONS, what, filters, versions)


_PRODUCERS = _Q(
    ApiKey.DESCRIBE_PRODUCERS,
    "a partition with a transaction",
    {"topics": [{"name": _TOPIC, "partition_indexes": [0]}]},
)

_BEGIN = (
    _Q(
        ApiKey.UPDATE_FEATURES,
        "transaction version 2",
        {"feature_updates": [{"feature": "transaction.version", "max_version_level": 2, "upgrade_type": 1}]},
        (1,),
    ),
    _Q(
        ApiKey.CREATE_TOPICS,
        "a topic for transactions",
        {"topics": [{"name": _TOPIC, "num_partitions": 2, "replication_factor": 1}], "timeout_ms": 10_000},
        (7,),
    ),
    _Q(ApiKey.METADATA, "that topic", {"topics": [{"name": _TOPIC}]}, (12,), {"tx7": "topics.0.topic_id"}),
    _Q(ApiKey.FIND_COORDINATOR, "of these transactions", {"coordinator_keys": ["tx"], "key_type": 1}, (4, 6)),
    _Q(ApiKey.FIND_COORDINATOR, "of the group of offsets", {"coordinator_keys": ["of tx"]}, (4, 6)),
    _init("a transactional producer", keep=_KEPT),
    _init("a timeout of 0", "tx2", transaction_timeout_ms=0),
    _init("a timeout that is too long", "tx2", transaction_timeout_ms=900_001),
    _init("the present epoch", versions=(3, 5), producer_id="$pid", producer_epoch="$epoch", keep=_KEPT),
    _init("another producer id", versions=(3, 5), producer_id=77_777, producer_epoch=0),
    _init("an epoch of the future", versions=(3, 5), producer_id="$pid", producer_epoch=1_000),
    _init("an epoch of the past", versions=(3, 5), producer_id="$pid", producer_epoch=0),
)

_OTHER_PRODUCERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("an epoch of the past", {"producer_epoch": 0}),
    ("an epoch of the future", {"producer_epoch": 1_000}),
    ("another producer id", {"producer_id": 77_777}),
    ("another transactional id", {"transactional_id": "unknown-id"}),
    ("an empty transactional id", {"transactional_id": ""}),
)

_TRANSACTION = (
    *(_add(what, **fields) for what, fields in _OTHER_PRODUCERS),
    *(_end(what, True, (*_FORMER, *_LATTER), **fields) for what, fields in _OTHER_PRODUCERS),
    *(_add_offsets(what, **fields) for what, fields in _OTHER_PRODUCERS),
    _end("without a transaction", True, _FORMER),
    _end("an abort without a transaction", False, _FORMER),
    _add("an unknown topic", "nowhere"),
    _add("an unknown partition", partition=9),
    _produce("a transaction without the partition", TransactionalBatch()),
    _add("a partition"),
    _produce("in a transaction", TransactionalBatch()),
    _produce("in a transaction, once more", TransactionalBatch()),
    _produce("a sequence gap in a transaction", TransactionalBatch(sequence=7)),
    _produce("another transactional id", TransactionalBatch(sequence=1), name="unknown-id"),
    _produce("a transactional batch without a transactional id", TransactionalBatch(sequence=2), name=None),
    _produce("the control bit", TransactionalBatch(sequence=2, is_control=True)),
    _produce("an older epoch in a transaction", TransactionalBatch(epochs_ahead=-1, sequence=1)),
    _produce("a newer epoch in a transaction", TransactionalBatch(epochs_ahead=1)),
    _PRODUCERS,
    _fetch("read committed in a transaction", 1),
    _fetch("read uncommitted in a transaction", 0),
    _latest("the latest that is stable in a transaction", 1),
    _latest("the latest in a transaction", 0),
    _add_by_broker("by a broker", verify_only=False),
    _add_by_broker("verified by a broker", verify_only=True),
    _add_offsets("offsets"),
    *(_commit_offsets(what, **fields) for what, fields in _OTHER_PRODUCERS),
    _commit_offsets("an unknown topic", topic={"name": "nowhere", "topic_id": NO_SUCH_ID}),
    _commit_offsets("metadata that is too long", asked={"committed_metadata": "x" * 5_000}),
    _commit_offsets("a member that does not exist", member_id="unknown", generation_id_or_member_epoch=1),
    _commit_offsets("a group without a name", group_id=""),
    _commit_offsets("offsets in a transaction"),
    _offsets("stable ones in a transaction", True),
    _offsets("any in a transaction", False),
    _describe("an open transaction", "tx"),
    _list("open transactions"),
    _end("a commit", True, (4,)),
)

_LATER = (
    _init("after a commit", keep=_KEPT),
    _fetch("read committed behind a commit", 1),
    _offsets("stable ones behind a commit", True),
    _end("with the first epoch of a producer, twice", True, (4, 4)),
    _add("a partition to abort", versions=(3,)),
    _produce("to be aborted", TransactionalBatch()),
    _end("an abort", False, _LATTER, bumps=True),
    _init("after an abort", keep=_KEPT),
    _fetch("read committed behind an abort", 1),
    _PRODUCERS,
    _produce("transaction version 2 adds the partition", TransactionalBatch(), version=12),
    _describe("a transaction of version 2", "tx"),
    _end("a commit of version 2", True, _LATTER, bumps=True),
    _init("after version 2", keep=_KEPT),
    _describe("several", "tx", "unknown-id"),
    _describe("an empty name", ""),
    _describe("none"),
    _list("by state", state_filters=["Empty", "Ongoing"]),
    _list("by a state that does not exist", state_filters=["NoSuch"]),
    _list("by a state in other letters", state_filters=["empty"]),
    _list("by producer id", producer_id_filters=["$pid"]),
    _list("by a producer id that is not", producer_id_filters=[77_777]),
    _list("by duration", versions=(1, 2), duration_filter=0),
    _list("by a long duration", versions=(1, 2), duration_filter=1_000_000),
    _list("by a negative duration", versions=(1, 2), duration_filter=-7),
    _list("by a pattern", versions=(2,), transactional_id_pattern="t.*"),
    _list("by a pattern that nothing matches", versions=(2,), transactional_id_pattern="x+"),
    _list("by an empty pattern", versions=(2,), transactional_id_pattern=""),
    _list("by a pattern that is invalid", versions=(2,), transactional_id_pattern="(("),
    _list("by a pattern with a class", versions=(2,), transactional_id_pattern="[st]x.*"),
)

TRANSACTIONS = (*_BEGIN, *_TRANSACTION, *_LATER)
