"""The seeded stream of frames: a corpus of real requests, each drawn frame changed by one mutation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from signalbox.protocol.api_table import API_TABLE, ApiKey, ApiRow
from tools.fuzz.any_request import AnyRequest
from tools.fuzz.mutations import MUTATIONS

_PER_VERSION = 12
_OFTEN = {ApiKey.PRODUCE: 6, ApiKey.FETCH: 3, ApiKey.METADATA: 2}
SENTINEL_ID = 0x7E57_7E57  # no fuzzed frame has this correlation id


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A frame preceded by its size, and the name of its mutation."""

    mutation: str
    wire: bytes


def fuzzed_frames(seed: int, takes: Callable[[ApiRow], bool]) -> Iterator[Fuzzed]:
    """Endless. `takes` selects the APIs of the corpus; mutated headers may still name others."""
    random_ = random.Random(seed)
    corpus = _corpus(AnyRequest(random_), takes)
    names = list(MUTATIONS)
    weights = [weight for weight, _ in MUTATIONS.values()]
    while True:
        for name in random_.choices(names, weights, k=1000):
            yield Fuzzed(name, MUTATIONS[name][1](random_.choice(corpus), random_))


def _corpus(requests: AnyRequest, takes: Callable[[ApiRow], bool]) -> list[bytes]:
    corpus = []
    for row in filter(takes, API_TABLE.values()):
        for version in range(row.min_version, row.max_version + 1):
            for number in range(_PER_VERSION * _OFTEN.get(ApiKey(row.key), 1)):
                frame = requests.frame(row, version, number + 1)
                corpus.append(len(frame).to_bytes(4) + frame)
    return corpus
