"""The cluster, its features and log directories, and a broker's description of itself."""

from __future__ import annotations

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question

_Q = Question
_WHO = {"client_software_name": "wire-diff", "client_software_version": "1"}


def _feature(what: str, name: str, level: int, upgrade_type: int = 1, validate_only: bool = False) -> Question:
    update = {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type}
    return _Q(ApiKey.UPDATE_FEATURES, what, {"feature_updates": [update], "validate_only": validate_only}, (1, 2))


CLUSTER = (
    _Q(ApiKey.API_VERSIONS, "what there is", _WHO),
    _Q(
        ApiKey.API_VERSIONS,
        "a name that is none",
        {"client_software_name": "a b", "client_software_version": "1"},
        (3, 5),
    ),
    _Q(ApiKey.API_VERSIONS, "an identity that is not ours", {**_WHO, "cluster_id": "another", "node_id": 1}, (5,)),
    _Q(ApiKey.API_VERSIONS, "half an identity", {**_WHO, "node_id": 1}, (5,)),
    _Q(ApiKey.DESCRIBE_CLUSTER, "brokers"),
    _Q(ApiKey.DESCRIBE_CLUSTER, "with operations", {"include_cluster_authorized_operations": True}),
    _Q(ApiKey.DESCRIBE_CLUSTER, "controllers", {"endpoint_type": 2}, (1, 2)),
    _Q(ApiKey.DESCRIBE_CLUSTER, "endpoints that do not exist", {"endpoint_type": 9}, (1, 2)),
    _Q(ApiKey.DESCRIBE_CLUSTER, "with fenced brokers", {"include_fenced_brokers": True}, (2,)),
    _feature("a feature that does not exist", "no.such", 1),
    _feature("a way to change that does not exist", "no.such", 1, 9),
    _feature("a level below 0", "no.such", -1),
    _Q(ApiKey.UPDATE_FEATURES, "nothing", {"feature_updates": []}),
    _Q(
        ApiKey.DESCRIBE_LOG_DIRS,
        "a topic",
        {"topics": [{"topic": "t7", "partitions": [0, 1]}]},
        keep={"log dir": "results.0.log_dir"},
    ),
    _Q(ApiKey.DESCRIBE_LOG_DIRS, "an unknown topic", {"topics": [{"topic": "nowhere", "partitions": [0]}]}),
    _Q(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        "a path that does not exist",
        {"dirs": [{"path": "/nowhere", "topics": [{"name": "t7", "partitions": [0]}]}]},
    ),
    _Q(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        "a path that is relative",
        {"dirs": [{"path": "nowhere", "topics": [{"name": "t7", "partitions": [0]}]}]},
    ),
    _Q(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        "the directory where the replica is",
        {"dirs": [{"path": "$log dir", "topics": [{"name": "t7", "partitions": [0, 99]}]}]},
    ),
    _Q(ApiKey.ALTER_REPLICA_LOG_DIRS, "nothing", {"dirs": []}),
)
