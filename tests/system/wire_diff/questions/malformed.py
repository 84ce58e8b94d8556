"""Malformed requests: which get a response, and which close the connection."""

from __future__ import annotations

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question

_Q = Question
_LATIN_1 = b"\0\x04caf\xe9"

MALFORMED = (
    _Q(ApiKey.METADATA, "a topic in Latin-1", raw=b"\0\0\0\x01" + _LATIN_1 + b"\0", versions=(4,)),
    _Q(ApiKey.FIND_COORDINATOR, "a group in Latin-1", raw=_LATIN_1, versions=(0,)),
    _Q(ApiKey.DESCRIBE_GROUPS, "a group in Latin-1", raw=b"\0\0\0\x01" + _LATIN_1, versions=(0,)),
    _Q(ApiKey.HEARTBEAT, "a group in Latin-1", raw=_LATIN_1 + b"\0\0\0\x01\0\0", versions=(0,)),
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
