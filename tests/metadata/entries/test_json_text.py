"""JSON of entries: compact, and the errors name the entry."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json


def test_compact_utf8() -> None:
    assert encode_json({"a": [1, None], "b": "ä"}) == '{"a":[1,null],"b":"ä"}'.encode()
    assert decode_json(b'{"a": 1}', "/x") == {"a": 1}


@pytest.mark.parametrize(
    "data",
    [
        *(None, b"", b"{", b"[1]", b"3", b"\xff"),
        pytest.param(b'{"a":' + b"[" * 100_000, id="deep"),
        pytest.param(b'{"a": 1e999}', id="beyond a double"),
        pytest.param(b'{"a": Infinity}', id="infinity"),
        pytest.param(b'{"a": NaN}', id="no number"),
        pytest.param(b'{"a": 9223372036854775808}', id="beyond 64 bits"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", id="too many digits"),
        pytest.param(b'{"a": "\\ud800"}', id="half a pair, escaped"),
        pytest.param(b'{"a": "\xed\xa0\x80"}', id="half a pair, as it is"),
        pytest.param('{"a": 1}'.encode("utf-16"), id="another encoding"),
    ],
)
def test_anything_else_is_rejected_by_name(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/x"):
        decode_json(data, "/x")


def test_complete_surrogate_pairs_and_the_largest_numbers_are_read() -> None:
    assert decode_json(b'{"a": "\\ud83d\\ude00", "b": -9223372036854775808}', "/x") == {
        "a": "\U0001f600",
        "b": -(2**63),
    }
