"""JSON of entries: compact, and errors that name the entry."""

from __future__ import annotations

import pytest

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json


def test_compact_utf8() -> None:
    assert encode_json({"a": [1, None], "b": "ä"}) == '{"a":[1,null],"b":"ä"}'.encode()
    assert decode_json(b'{"a": 1}', "/x") == {"a": 1}


@pytest.mark.parametrize("data", [None, b"", b"{", b"[1]", b"3", b"\xff"])
def test_anything_else_is_refused_by_name(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/x"):
        decode_json(data, "/x")
