"""`/feature`: Kafka's payload in both versions, and which supported ranges are incompatible with it."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.feature_levels import FinalizedFeatures, decode_features, encode_features, incompatible
from signalbox.metadata.entries.json_text import BadEntry


def test_payload_is_kafkas() -> None:
    payload = encode_features({"f": 2})
    assert payload == b'{"version":2,"status":1,"features":{"f":{"max_version_level":2}}}'
    assert decode_features(payload, 7) == FinalizedFeatures({"f": 2}, 7, True)
    older = b'{"version":1,"status":1,"features":{"f":{"min_version_level":1,"max_version_level":3}}}'
    assert decode_features(older, 0) == FinalizedFeatures({"f": 3}, 0, True)


def test_a_disabled_entry_finalizes_nothing() -> None:
    disabled = b'{"version":2,"status":0,"features":{"f":{"max_version_level":3}}}'
    assert decode_features(disabled, 4) == FinalizedFeatures({}, 4, False)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b'{"version":2}',
        b'{"version":0,"status":1}',
        b'{"version":2,"status":2}',
        b'{"version":2,"status":1,"features":{"f":1}}',
        b'{"version":2,"status":1,"features":[1]}',
    ],
)
def test_bad_payloads_are_named(payload: bytes) -> None:
    with pytest.raises(BadEntry, match="/feature"):
        decode_features(payload, 0)


def test_incompatible_features_are_listed() -> None:
    assert incompatible({"f": (1, 3)}, {"f": 3}) == []
    assert incompatible({}, {}) == []
    assert incompatible({"f": (2, 3)}, {"f": 1, "a": 2}) == [
        "a is finalized at 2 and not supported",
        "f is finalized at 1 and supported from 2 to 3",
    ]
