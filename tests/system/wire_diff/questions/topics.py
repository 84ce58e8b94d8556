"""Topics and partitions: created, described, and deleted at the end."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question

NO_SUCH_ID = bytes(15) + b"\x09"
_TIMEOUT = {"timeout_ms": 10_000}


def _create(what: str, topic: dict[str, Any], **more: Any) -> Question:
    made = {"num_partitions": 1, "replication_factor": 1, **topic}
    keep = more.pop("keep", {})
    return Question(ApiKey.CREATE_TOPICS, what, {"topics": [made], **_TIMEOUT, **more}, keep=keep)


def _by_hand(*replicas: list[int]) -> dict[str, Any]:
    assignments = [{"partition_index": index, "broker_ids": brokers} for index, brokers in enumerate(replicas)]
    return {"assignments": assignments, "num_partitions": -1, "replication_factor": -1}


def _partitions(what: str, topic: dict[str, Any], **more: Any) -> Question:
    return Question(ApiKey.CREATE_PARTITIONS, what, {"topics": [topic], **_TIMEOUT, **more})


def _reassign(what: str, name: str, partition: int, replicas: list[int] | None) -> Question:
    moved = {"name": name, "partitions": [{"partition_index": partition, "replicas": replicas}]}
    return Question(ApiKey.ALTER_PARTITION_REASSIGNMENTS, what, {"topics": [moved]})


_Q = Question
_METADATA = ApiKey.METADATA

TOPICS = (
    _create("a topic", {"name": "t{v}", "num_partitions": 2}, keep={"t": "topics.0.topic_id"}),
    _create("with configs", {"name": "c{v}", "configs": [{"name": "retention.ms", "value": "1000000"}]}),
    _create("compacted", {"name": "compacted{v}", "configs": [{"name": "cleanup.policy", "value": "compact"}]}),
    _create("by hand", {"name": "hand{v}", **_by_hand([1], [1])}),
    _create("validated only", {"name": "never", "num_partitions": 3}, validate_only=True),
    _create("a name that is taken", {"name": "t{v}"}),
    _create("no name", {"name": ""}),
    _create("a name with a blank", {"name": "a b"}),
    _create("a name that collides", {"name": "d.t{v}"}),
    _create("a name that collides, second", {"name": "d_t{v}"}),
    _create("a dot", {"name": ".."}),
    _create("a name of 250 letters", {"name": "x" * 250}),
    _create("no partitions", {"name": "bad", "num_partitions": 0}),
    _create("more replicas than brokers", {"name": "bad", "replication_factor": 2}),
    _create("no replicas", {"name": "bad", "replication_factor": 0}),
    _create("an unknown config", {"name": "bad", "configs": [{"name": "no.such", "value": "1"}]}),
    _create("a config out of range", {"name": "bad", "configs": [{"name": "retention.ms", "value": "-5"}]}),
    _create("a config that is no number", {"name": "bad", "configs": [{"name": "retention.ms", "value": "x"}]}),
    _create("a config without a value", {"name": "bad", "configs": [{"name": "retention.ms", "value": None}]}),
    _create("by hand on a broker that is not there", {"name": "bad", **_by_hand([7])}),
    _create("by hand and by number", {"name": "bad", **_by_hand([1]), "num_partitions": 1}),
    _create("the same replica twice", {"name": "bad", **_by_hand([1, 1])}),
    _Q(ApiKey.CREATE_TOPICS, "nothing", {"topics": [], **_TIMEOUT}),
    _Q(
        ApiKey.CREATE_TOPICS,
        "the same name twice",
        {"topics": [{"name": "twice", "num_partitions": 1, "replication_factor": 1}] * 2, **_TIMEOUT},
    ),
    _Q(_METADATA, "a topic", {"topics": [{"name": "t7"}]}, keep={"t": "topics.0.topic_id"}),
    _Q(_METADATA, "all topics", {"topics": None}, versions=(1, 9, 13)),
    _Q(_METADATA, "all topics, as version 0 asks", {"topics": []}, versions=(0,)),
    _Q(_METADATA, "no topics", {"topics": []}, versions=(1, 13)),
    _Q(_METADATA, "an unknown topic", {"topics": [{"name": "nowhere"}], "allow_auto_topic_creation": True}),
    _Q(_METADATA, "a topic by its id", {"topics": [{"topic_id": "$t", "name": None}]}, versions=(12, 13)),
    _Q(_METADATA, "an unknown id", {"topics": [{"topic_id": NO_SUCH_ID, "name": None}]}, versions=(12, 13)),
    _Q(_METADATA, "a bad name", {"topics": [{"name": "a b"}]}),
    _Q(
        _METADATA,
        "with authorized operations",
        {
            "topics": [{"name": "t7"}],
            "include_topic_authorized_operations": True,
            "include_cluster_authorized_operations": True,
        },
        versions=(8, 10),
    ),
    _Q(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "a topic", {"topics": [{"name": "t7"}]}),
    _Q(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "no topics: all of them", {"topics": []}),
    _Q(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "an unknown topic", {"topics": [{"name": "nowhere"}]}),
    _Q(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        "one partition, then a cursor",
        {"topics": [{"name": "t7"}], "response_partition_limit": 1},
    ),
    _Q(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        "from a cursor on",
        {"topics": [{"name": "t7"}], "cursor": {"topic_name": "t7", "partition_index": 1}},
    ),
    _partitions("one more, validated only", {"name": "c2", "count": 2, "assignments": None}, validate_only=True),
    _partitions("three", {"name": "hand2", "count": 3, "assignments": None}),
    _partitions("fewer", {"name": "t7", "count": 1, "assignments": None}),
    _partitions("as many", {"name": "t7", "count": 2, "assignments": None}),
    _partitions("an unknown topic", {"name": "nowhere", "count": 3, "assignments": None}),
    _partitions("on a broker that is not there", {"name": "t7", "count": 3, "assignments": [{"broker_ids": [9]}]}),
    _partitions("too few assignments", {"name": "t7", "count": 4, "assignments": [{"broker_ids": [1]}]}),
    _Q(ApiKey.ELECT_LEADERS, "preferred, nothing to do", {"topic_partitions": [{"topic": "t7", "partitions": [0]}]}),
    _Q(ApiKey.ELECT_LEADERS, "an unknown topic", {"topic_partitions": [{"topic": "nowhere", "partitions": [0]}]}),
    _Q(ApiKey.ELECT_LEADERS, "an unknown partition", {"topic_partitions": [{"topic": "t7", "partitions": [9]}]}),
    _Q(
        ApiKey.ELECT_LEADERS,
        "unclean, nothing to do",
        {"topic_partitions": [{"topic": "t7", "partitions": [0]}], "election_type": 1},
        versions=(1, 2),
    ),
    _Q(ApiKey.ELECT_LEADERS, "all partitions", {"topic_partitions": None}),
    _reassign("to where it is", "t7", 0, [1]),
    _reassign("to a broker that is not there", "t7", 0, [7]),
    _reassign("cancelled, nothing to cancel", "t7", 0, None),
    _reassign("an unknown topic", "nowhere", 0, [1]),
    _reassign("an unknown partition", "t7", 9, [1]),
    _reassign("to nothing", "t7", 0, []),
    _reassign("the same replica twice", "t7", 0, [1, 1]),
    _Q(ApiKey.LIST_PARTITION_REASSIGNMENTS, "all"),
    _Q(ApiKey.LIST_PARTITION_REASSIGNMENTS, "a topic", {"topics": [{"name": "t7", "partition_indexes": [0]}]}),
    _Q(ApiKey.LIST_PARTITION_REASSIGNMENTS, "an unknown topic", {"topics": [{"name": "no", "partition_indexes": [0]}]}),
)

DELETIONS = (
    _Q(ApiKey.DELETE_TOPICS, "a topic", {"topics": [{"name": "d.t7"}], "topic_names": ["d.t2"], **_TIMEOUT}),
    _Q(ApiKey.DELETE_TOPICS, "an unknown topic", {"topics": [{"name": "no"}], "topic_names": ["no"], **_TIMEOUT}),
    _Q(ApiKey.DELETE_TOPICS, "nothing", {"topics": [], "topic_names": [], **_TIMEOUT}),
    _Q(ApiKey.DELETE_TOPICS, "by id", {"topics": [{"name": None, "topic_id": "$t"}], **_TIMEOUT}, versions=(6,)),
    _Q(ApiKey.DELETE_TOPICS, "an unknown id", {"topics": [{"name": None, "topic_id": NO_SUCH_ID}], **_TIMEOUT}, (6,)),
    _Q(ApiKey.DELETE_TOPICS, "neither name nor id", {"topics": [{"name": None}], **_TIMEOUT}, versions=(6,)),
)
