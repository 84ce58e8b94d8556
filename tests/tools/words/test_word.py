from __future__ import annotations

import pytest
from tools.words.word import words_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class BrokerChannel", ["class", "broker", "channel"]),
        ("log_end_offset", ["log", "end", "offset"]),
        ("ACLs of two IPs", ["acl", "two"]),
        ("Leader elected (partition=%s, ms=%d)\\n", ["leader", "elected", "partition"]),
        ("see https://example.org/page and 0xff, 16k, U+FFFD", ["see", "and"]),
    ],
)
def test_names_and_sentences_are_divided(text: str, words: list[str]) -> None:
    assert [word.text for word in words_in(text, "here")] == words
    assert {word.place for word in words_in(text, "here")} == {"here"}
