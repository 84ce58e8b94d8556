"""Malformed requests: which get a response, and which close the connection."""

from __future__ import annotations

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question

_Q = Question
_LATIN_1, _COMPACT_LATIN_1 = b"\0\x04caf\xe9", b"\x05caf\xe9"
_LONG = b"\xff" * 12_000  # its text has 36,000 bytes, more than a string may have
_LONG_STRING = len(_LONG).to_bytes(2) + _LONG
_UNKNOWN_MEMBER = {"group_id": "unknown", "generation_id": 1, "member_id": "m"}
_JOIN = {
    "group_id": "long-client-id",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"m"}],
}

MALFORMED = (
    _Q(ApiKey.METADATA, "a topic in Latin-1", raw=b"\0\0\0\x01" + _LATIN_1 + b"\0", versions=(4,)),
    _Q(ApiKey.FIND_COORDINATOR, "a group in Latin-1", raw=_LATIN_1, versions=(0,)),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group in Latin-1", raw=b"\0\0\0\x01" + _LATIN_1, versions=(0,)),
    _Q(ApiKey.HEARTBEAT, "a group in Latin-1", raw=_LATIN_1 + b"\0\0\0\x01\0\0", versions=(0,)),
    _Q(ApiKey.HEARTBEAT, "a group in Latin-1", raw=_COMPACT_LATIN_1 + b"\0\0\0\x01\x02m\0\0", versions=(4,)),
    _Q(ApiKey.FIND_COORDINATOR, "a group in Latin-1", raw=_COMPACT_LATIN_1 + b"\0\0", versions=(3,)),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group in Latin-1", raw=b"\x02" + _COMPACT_LATIN_1 + b"\0\0", versions=(5,)),
    _Q(ApiKey.HEARTBEAT, "a client id in Latin-1", _UNKNOWN_MEMBER, client_id=b"caf\xe9"),
    _Q(ApiKey.HEARTBEAT, "a long client id that is not UTF-8", _UNKNOWN_MEMBER, client_id=_LONG),
    _Q(ApiKey.JOIN_GROUP, "a long client id that is not UTF-8", _JOIN, versions=(9,), client_id=_LONG),
    _Q(ApiKey.HEARTBEAT, "a long group that is not UTF-8", raw=_LONG_STRING + b"\0\0\0\x01\0\x01m", versions=(0,)),
    _Q(ApiKey.DESCRIBE_GROUPS, "a long group that is not UTF-8", raw=b"\0\0\0\x01" + _LONG_STRING, versions=(0,)),
    _Q(ApiKey.FIND_COORDINATOR, "a long group that is not UTF-8", raw=_LONG_STRING, versions=(0,)),
    _Q(
        ApiKey.METADATA,
        "a long topic that is not UTF-8",
        raw=b"\0\0\0\x01" + _LONG_STRING + b"\0",
        versions=(4,),
    ),
    _Q(ApiKey.METADATA, "a version above all", raw=b"\0", versions=(99,)),
    _Q(ApiKey.API_VERSIONS, "a version above all", raw=b"", versions=(99,)),
    _Q(ApiKey.METADATA, "a body that is cut off", raw=b"\0\0\0\x05", versions=(1,)),
    _Q(ApiKey.METADATA, "more elements than bytes", raw=b"\x7f\xff\xff\xff", versions=(1,)),
    _Q(ApiKey.LIST_GROUPS, "bytes behind the body", raw=b"xyz", versions=(0,)),
    _Q(ApiKey.PRODUCE, "a version that is listed and not served", raw=b"\0\x01\0\0\0\0\0\0\0\0", versions=(0,)),
    _Q(
        ApiKey.ENVELOPE,
        "from a client",
        {"request_data": b"x", "request_principal": b"", "client_host_address": b""},
        (0,),
    ),
)
