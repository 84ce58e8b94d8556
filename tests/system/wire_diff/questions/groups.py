"""Consumer groups of the classic protocol, and their offsets."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question
from tests.system.wire_diff.questions.topics import NO_SUCH_ID

_Q = Question
_SUBSCRIPTION = b"\0\0\0\0\0\x01\0\x02t7\xff\xff\xff\xff"
_MEMBER: dict[str, Any] = {
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
}


def _coordinator(what: str, key: str, key_type: int = 0, versions: tuple[int, ...] = ()) -> Question:
    return _Q(ApiKey.FIND_COORDINATOR, what, {"key": key, "coordinator_keys": [key], "key_type": key_type}, versions)


def _join(what: str, group: str, versions: tuple[int, ...] = (), keep: str = "", **more: Any) -> Question:
    kept = {keep: "member_id"} if keep else {}
    return _Q(ApiKey.JOIN_GROUP, what, {"group_id": group, **_MEMBER, **more}, versions, kept)


def _commit(what: str, group: str, partition: int = 0, **more: Any) -> Question:
    topic = {"name": "t7", "topic_id": "$t", **more.pop("topic", {})}
    asked = {"partition_index": partition, "committed_offset": 3, "committed_metadata": "m", **more.pop("asked", {})}
    return _Q(ApiKey.OFFSET_COMMIT, what, {"group_id": group, "topics": [{**topic, "partitions": [asked]}], **more})


def _offsets(what: str, group: str, name: str = "t7", partitions: tuple[int, ...] = (0,)) -> Question:
    asked = {"name": name, "partition_indexes": list(partitions)}
    by_id = {**asked, "topic_id": "$t" if name == "t7" else NO_SUCH_ID}
    return _Q(
        ApiKey.OFFSET_FETCH,
        what,
        {"group_id": group, "topics": [asked], "groups": [{"group_id": group, "topics": [by_id]}]},
    )


def _sync(what: str, group: str, generation: int, member: str, versions: tuple[int, ...] = ()) -> Question:
    """Without assignments; the protocol is named from version 5 on."""
    named = {"protocol_type": "consumer", "protocol_name": "range"}
    body = {"group_id": group, "generation_id": generation, "member_id": member, **named}
    return _Q(ApiKey.SYNC_GROUP, what, body, versions)


_HEARTBEAT, _SYNC, _LEAVE = ApiKey.HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP

GROUPS = (
    _coordinator("of a group", "g"),
    _coordinator("of a group without a name", ""),
    _coordinator("of a transaction", "tx", 1, (1, 6)),
    _coordinator("of a share group's partition", "g:AAAAAAAAAAAAAAAAAAAAAQ:0", 2, (4, 6)),
    _coordinator("of what does not exist", "g", 9, (1, 6)),
    _Q(ApiKey.FIND_COORDINATOR, "no keys", {"coordinator_keys": []}, (4, 6)),
    _join("a first member", "g{v}", (0, 1, 3)),
    _join("a group without a name", ""),
    _join("a session timeout that is too short", "g2", session_timeout_ms=1),
    _join("a session timeout that is too long", "g2", session_timeout_ms=10_000_000),
    _join("a member that does not exist", "g2", member_id="unknown"),
    _join("without protocols", "g2", protocols=[]),
    _join("without a protocol type", "g2", protocol_type=""),
    _join("a first member that needs an id", "h", (4, 9), "waiting"),
    _join("a member with its id", "h", (9,), "member", member_id="$waiting"),
    _join("a static member", "s", (5, 9), "static", group_instance_id="i"),
    _join("another protocol type", "h", (9,), protocol_type="connect"),
    _Q(
        _SYNC,
        "the leader",
        {
            "group_id": "h",
            "generation_id": 1,
            "member_id": "$member",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": "$member", "assignment": b"\0\0\0\0\0\0\xff\xff\xff\xff"}],
        },
        (5,),
    ),
    _Q(_SYNC, "without a protocol", {"group_id": "h", "generation_id": 1, "member_id": "$member"}, (5,)),
    _sync("a member that does not exist", "h", 1, "unknown"),
    _sync("a generation that is not", "h", 9, "$member"),
    _sync("a group that is not", "nowhere", 1, "unknown"),
    _sync("a group without a name", "", 1, "unknown"),
    _Q(_HEARTBEAT, "a member", {"group_id": "h", "generation_id": 1, "member_id": "$member"}),
    _Q(_HEARTBEAT, "a generation that is not", {"group_id": "h", "generation_id": 9, "member_id": "$member"}),
    _Q(_HEARTBEAT, "a member that does not exist", {"group_id": "h", "generation_id": 1, "member_id": "unknown"}),
    _Q(_HEARTBEAT, "a group that is not", {"group_id": "nowhere", "generation_id": 1, "member_id": "unknown"}),
    _Q(_HEARTBEAT, "a group without a name", {"group_id": "", "generation_id": 1, "member_id": "unknown"}),
    _commit("by a member", "h", generation_id_or_member_epoch=1, member_id="$member"),
    _commit("by a member of another generation", "h", generation_id_or_member_epoch=9, member_id="$member"),
    _commit("by a member that does not exist", "h", generation_id_or_member_epoch=1, member_id="unknown"),
    _commit("without a member into a group with members", "h"),
    _commit("without a member", "alone"),
    _commit("an unknown topic", "alone", topic={"name": "nowhere", "topic_id": NO_SUCH_ID}),
    _commit("an unknown partition", "alone", partition=9),
    _commit("metadata that is too long", "alone", asked={"committed_metadata": "x" * 5_000}),
    _commit("a negative offset", "alone", asked={"committed_offset": -7}),
    _commit("a group without a name", ""),
    _commit("a group without a name, in a generation", "", generation_id_or_member_epoch=1, member_id="m"),
    _offsets("committed", "alone"),
    _offsets("not committed", "alone", partitions=(1,)),
    _offsets("an unknown topic", "alone", "nowhere"),
    _offsets("an unknown partition", "alone", partitions=(9,)),
    _offsets("a group that is not", "nowhere"),
    _offsets("a group without a name", ""),
    _Q(ApiKey.OFFSET_FETCH, "all offsets", {"group_id": "alone", "topics": None}, (2, 7)),
    _Q(ApiKey.OFFSET_FETCH, "all offsets of groups", {"groups": [{"group_id": "alone", "topics": None}]}, (8, 10)),
    _Q(ApiKey.OFFSET_FETCH, "no groups", {"groups": []}, (8, 10)),
    _Q(
        ApiKey.OFFSET_FETCH,
        "a member epoch in a classic group",
        {"groups": [{"group_id": "alone", "member_id": "m", "member_epoch": 3, "topics": None}]},
        (9, 10),
    ),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group with a member", {"groups": ["h"]}),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group with offsets alone", {"groups": ["alone"]}),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group that is not", {"groups": ["nowhere"]}),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group without a name", {"groups": [""]}),
    _Q(ApiKey.DESCRIBE_GROUPS, "with operations", {"groups": ["h"], "include_authorized_operations": True}, (3, 6)),
    _Q(ApiKey.LIST_GROUPS, "all"),
    _Q(ApiKey.LIST_GROUPS, "by state", {"states_filter": ["Empty"]}, (4, 5)),
    _Q(ApiKey.LIST_GROUPS, "by a state in small letters", {"states_filter": ["empty"]}, (4, 5)),
    _Q(ApiKey.LIST_GROUPS, "by a state that does not exist", {"states_filter": ["Gone"]}, (4, 5)),
    _Q(ApiKey.LIST_GROUPS, "by type", {"types_filter": ["classic"]}, (5,)),
    _Q(ApiKey.LIST_GROUPS, "by a type that does not exist", {"types_filter": ["strange"]}, (5,)),
    _Q(
        ApiKey.OFFSET_DELETE,
        "of a group",
        {"group_id": "alone", "topics": [{"name": "t7", "partitions": [{"partition_index": 0}]}]},
    ),
    _Q(
        ApiKey.OFFSET_DELETE,
        "an unknown topic",
        {"group_id": "alone", "topics": [{"name": "nowhere", "partitions": [{"partition_index": 0}]}]},
    ),
    _Q(ApiKey.OFFSET_DELETE, "a group that is not", {"group_id": "nowhere", "topics": []}),
    _Q(
        ApiKey.OFFSET_DELETE,
        "of a topic that is subscribed to",
        {"group_id": "h", "topics": [{"name": "t7", "partitions": [{"partition_index": 0}]}]},
    ),
    _Q(ApiKey.DELETE_GROUPS, "a group with a member", {"groups_names": ["h"]}),
    _Q(ApiKey.DELETE_GROUPS, "a group that is not", {"groups_names": ["nowhere"]}),
    _Q(ApiKey.DELETE_GROUPS, "a group without a name", {"groups_names": [""]}),
    _Q(ApiKey.DELETE_GROUPS, "none", {"groups_names": []}),
    _Q(_LEAVE, "a member that does not exist", {"group_id": "h", "member_id": "no", "members": [{"member_id": "no"}]}),
    _Q(_LEAVE, "a group that is not", {"group_id": "none", "member_id": "no", "members": [{"member_id": "no"}]}),
    _Q(_LEAVE, "a group without a name", {"group_id": "", "member_id": "no", "members": [{"member_id": "no"}]}),
    _Q(_LEAVE, "a member", {"group_id": "h", "member_id": "$member", "members": [{"member_id": "$member"}]}, (5,)),
    _Q(
        _LEAVE,
        "a static member by its name",
        {"group_id": "s", "members": [{"member_id": "", "group_instance_id": "i"}]},
        (3,),
    ),
    _Q(ApiKey.DELETE_GROUPS, "an empty group", {"groups_names": ["alone"]}),
)
