"""Records: produced, fetched, found by timestamp, deleted."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question
from tests.system.wire_diff.questions.topics import NO_SUCH_ID

_Q = Question
_READ = {"max_wait_ms": 0, "min_bytes": 0}
_MAGIC_1 = bytes(11) + b"\x2d" + bytes(4) + b"\x01" + bytes(40)


def _produce(what: str, partition: int = 0, records: Any = "$batch", **more: Any) -> Question:
    topic = {"name": "t7", "topic_id": "$t", **more.pop("topic", {})}
    data = {**topic, "partition_data": [{"index": partition, "records": records}]}
    versions = more.pop("versions", ())
    return _Q(ApiKey.PRODUCE, what, {"acks": -1, "timeout_ms": 5_000, "topic_data": [data], **more}, versions)


def _fetch(what: str, offset: int = 0, partition: int = 0, **more: Any) -> Question:
    asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 100_000, **more.pop("asked", {})}
    topic = {"topic": "t7", "topic_id": "$t", "partitions": [asked], **more.pop("topic", {})}
    keep, versions = more.pop("keep", {}), more.pop("versions", ())
    return _Q(ApiKey.FETCH, what, {**_READ, "topics": [topic], **more}, versions, keep)


def _offsets(what: str, timestamp: int, topic: str = "t7", partition: int = 0, **more: Any) -> Question:
    versions = more.pop("versions", ())
    asked = {"partition_index": partition, "timestamp": timestamp, **more}
    body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [asked]}]}
    return _Q(ApiKey.LIST_OFFSETS, what, body, versions)


def _epoch(what: str, epoch: int, partition: int = 0, topic: str = "t7", current: int = -1) -> Question:
    asked = {"partition": partition, "leader_epoch": epoch, "current_leader_epoch": current}
    body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [asked]}]}
    return _Q(ApiKey.OFFSET_FOR_LEADER_EPOCH, what, body)


def _delete(what: str, offset: int, topic: str = "t7", partition: int = 0) -> Question:
    asked = {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
    return _Q(ApiKey.DELETE_RECORDS, what, {"topics": [asked], "timeout_ms": 5_000})


def _producers(what: str, topic: str = "t7", partition: int = 0) -> Question:
    return _Q(ApiKey.DESCRIBE_PRODUCERS, what, {"topics": [{"name": topic, "partition_indexes": [partition]}]})


def _marker(what: str, topic: str = "t7", partition: int = 1, **more: Any) -> Question:
    fields = {"producer_id": 990, "producer_epoch": 3, "transaction_result": False, "coordinator_epoch": 5, **more}
    marker = {**fields, "topics": [{"name": topic, "partition_indexes": [partition]}]}
    return _Q(ApiKey.WRITE_TXN_MARKERS, what, {"markers": [marker]})


_ANOTHER: dict[str, Any] = {"name": "nowhere", "topic_id": NO_SUCH_ID}
_EMPTY: dict[str, Any] = {"name": "t2", "topic_id": "$t2"}
_KEYED: dict[str, Any] = {"name": "compacted7", "topic_id": "$compacted"}

RECORDS = (
    _Q(
        ApiKey.METADATA,
        "a compacted topic",
        {"topics": [{"name": "compacted7"}]},
        (12,),
        {"compacted": "topics.0.topic_id"},
    ),
    _produce("a batch"),
    _produce("acks of the leader alone", acks=1),
    _produce("impossible acks", acks=5),
    _produce("an unknown topic", topic=_ANOTHER),
    _produce("an unknown partition", partition=9),
    _produce("a batch with a wrong checksum", records="$corrupt batch"),
    _produce("no records at all", records=None, versions=(13,)),
    _produce("an empty set of records", records=b""),
    _produce("an old message format", records=_MAGIC_1),
    _produce("a key for a compacted topic", topic=_KEYED),
    _Q(ApiKey.METADATA, "a topic without records", {"topics": [{"name": "t2"}]}, (12,), {"t2": "topics.0.topic_id"}),
    _produce("a delete horizon, which only the cleaner sets", records="$batch with a delete horizon", topic=_EMPTY),
    _offsets("the greatest timestamp of a batch with a delete horizon", -3, "t2", versions=(7, 11)),
    _produce("no timestamp", 1, "$untimed batch", topic=_EMPTY),
    _offsets("the greatest timestamp where there is none", -3, "t2", 1, versions=(7, 11)),
    _offsets("by a time where there is none", 1, "t2", 1),
    _Q(ApiKey.PRODUCE, "nothing", {"acks": -1, "timeout_ms": 5_000, "topic_data": []}),
    _fetch("from the start"),
    _fetch("from the end", offset=6),
    _fetch("beyond the end", offset=1_000),
    _fetch("below the start", offset=-1),
    _fetch("an unknown partition", partition=9),
    _fetch("an unknown topic", topic={"topic": "nowhere", "topic_id": NO_SUCH_ID}),
    _fetch("a leader epoch of the past", asked={"current_leader_epoch": 0}),
    _fetch("a leader epoch to come", asked={"current_leader_epoch": 5}, versions=(9, 18)),
    _fetch("one byte", asked={"partition_max_bytes": 1}),
    _fetch("read committed", isolation_level=1),
    _fetch("an isolation that does not exist", isolation_level=7),
    _fetch("a new session", session_epoch=0, versions=(7, 18), keep={"session": "session_id"}),
    _fetch("a session that does not exist", session_id=77, session_epoch=3, versions=(7, 18)),
    _Q(ApiKey.FETCH, "the session goes on", {**_READ, "session_id": "$session", "session_epoch": 1}, (18,)),
    _Q(ApiKey.FETCH, "the session at a wrong epoch", {**_READ, "session_id": "$session", "session_epoch": 9}, (18,)),
    _Q(ApiKey.FETCH, "nothing", {**_READ, "topics": []}),
    _fetch("a diverging epoch", asked={"last_fetched_epoch": 3}, versions=(12, 18)),
    _offsets("the earliest", -2),
    _offsets("the latest", -1),
    _offsets("by a time", 1),
    _offsets("by a time to come", 4_000_000_000_000),
    _offsets("the greatest timestamp", -3, versions=(7, 11)),
    _offsets("the earliest local", -4, versions=(8, 11)),
    _offsets("the latest tiered", -5, versions=(9, 11)),
    _offsets("the earliest pending upload", -6, versions=(11,)),
    _offsets("a special value that does not exist", -9),
    _offsets("a special value above the version", -3, versions=(6,)),
    _offsets("an unknown topic", -1, "nowhere"),
    _offsets("an unknown partition", -1, partition=9),
    _offsets("a leader epoch to come", -1, current_leader_epoch=9, versions=(4, 11)),
    _epoch("the present epoch", 0),
    _epoch("an epoch to come", 7),
    _epoch("no epoch", -1),
    _epoch("an unknown partition", 0, partition=9),
    _epoch("an unknown topic", 0, topic="nowhere"),
    _epoch("a current epoch to come", 0, current=9),
    _delete("up to an offset", 1),
    _delete("up to the high watermark", -1, partition=1),
    _delete("beyond the end", 1_000),
    _delete("a negative offset", -5),
    _delete("an unknown topic", 0, "nowhere"),
    _delete("an unknown partition", 0, partition=9),
    _delete("of a compacted topic", 0, "compacted7"),
    _Q(ApiKey.INIT_PRODUCER_ID, "an idempotent producer", {"transactional_id": None, "transaction_timeout_ms": 60_000}),
    _Q(ApiKey.INIT_PRODUCER_ID, "an empty transactional id", {"transactional_id": "", "transaction_timeout_ms": 1}),
    _Q(
        ApiKey.INIT_PRODUCER_ID,
        "an id without its epoch",
        {"transactional_id": None, "producer_id": 5, "producer_epoch": -1},
        (3, 5),
    ),
    _producers("a partition without producers"),
    _producers("an unknown topic", "nowhere"),
    _producers("an unknown partition", partition=9),
    _producers("an invalid topic name", "no/topic"),
    _Q(ApiKey.DESCRIBE_PRODUCERS, "nothing", {"topics": []}),
    _marker("abort without a transaction"),
    _marker("commit", transaction_result=True),
    _marker("an old producer epoch", producer_epoch=2),
    _marker("an old coordinator epoch", coordinator_epoch=4),
    _marker("an unknown topic", "nowhere"),
    _marker("an unknown partition", partition=9),
    _Q(ApiKey.WRITE_TXN_MARKERS, "no markers", {"markers": []}),
)
