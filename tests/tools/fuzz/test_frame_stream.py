from __future__ import annotations

from itertools import islice

from tools.fuzz.frame_stream import SENTINEL_ID, fuzzed_frames
from tools.fuzz.mutations import MUTATIONS

from signalbox.protocol.api_table import ApiKey


def test_a_seed_is_a_stream() -> None:
    def first(seed: int) -> list[bytes]:
        stream = fuzzed_frames(seed, lambda row: row.key == ApiKey.METADATA)
        return [fuzzed.wire for fuzzed in islice(stream, 300)]

    assert first(1) == first(1) != first(2)


def test_every_mutation_comes_up_and_no_frame_looks_like_the_sentinel() -> None:
    frames = list(islice(fuzzed_frames(1, lambda row: row.key in (ApiKey.FETCH, ApiKey.HEARTBEAT)), 3000))
    assert {fuzzed.mutation for fuzzed in frames} == set(MUTATIONS)
    assert all(fuzzed.wire[8:12] != SENTINEL_ID.to_bytes(4) for fuzzed in frames)
