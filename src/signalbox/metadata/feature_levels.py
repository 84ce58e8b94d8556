"""Features of a cluster (KIP-584): which levels this release supports, and `/feature`, the levels that are finalized.

A finalized level is one that every broker has to support: who does not is no member of the cluster. The epoch of the
finalized levels is the version of their entry. Kafka's brokers write version 2 of the JSON from 3.3 on and 1 before;
status 0 (a cluster below inter.broker.protocol.version 2.7) means that nothing is finalized.

`signalbox.version` is the release's own: what brokers store and tell each other beyond Kafka (keys of registrations
and topic entries that Kafka's readers ignore, kept outcomes of forwarded changes). At level 1 no broker takes part
that would not keep to it: an older release, or a broker of Apache Kafka on the same store. It is optional. Kafka's own
features (metadata.version, group.version, transaction.version ...) promise things to clients that are not there: none
of them is supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import FEATURE

UNKNOWN_EPOCH = -1
_VERSION, _DISABLED, _ENABLED = 2, 0, 1

Levels = Mapping[str, int]
LevelRanges = Mapping[str, tuple[int, int]]

SUPPORTED_FEATURES: LevelRanges = {"signalbox.version": (1, 1)}


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """Finalized levels by feature. `epoch` is -1 while nothing was ever stored. `enabled`: whether the entry is there
    and says so. `damage`: why it cannot be read, "" where it can; then nothing else here is known."""

    levels: Levels = field(default_factory=dict)
    epoch: int = UNKNOWN_EPOCH
    enabled: bool = False
    damage: str = ""


NO_FEATURES = FinalizedFeatures()


def encode_features(levels: Levels) -> bytes:
    """The JSON payload, version 2, enabled."""
    features = {name: {"max_version_level": level} for name, level in levels.items()}
    return encode_json({"version": _VERSION, "status": _ENABLED, "features": features})


def decode_features(data: bytes | None, version: int) -> FinalizedFeatures:
    """Versions 1 and 2 of the payload; `version` is the entry's. BadEntry says what is wrong."""
    payload = decode_json(data, FEATURE)
    try:
        if (found := int(payload["version"])) < 1:
            raise BadEntry(f"{FEATURE} has version {found}: 1 is the first")
        status = int(payload["status"])
        if status not in (_DISABLED, _ENABLED):
            raise BadEntry(f"{FEATURE} has status {status}: expected 0 (disabled) or 1 (enabled)")
        levels = {name: int(level["max_version_level"]) for name, level in (payload.get("features") or {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{FEATURE} does not hold features: {error!r}") from error
    return FinalizedFeatures(levels, version, True) if status == _ENABLED else FinalizedFeatures({}, version)


def incompatible(supported: LevelRanges, finalized: Levels) -> list[str]:
    """What a broker with these supported ranges lacks, one line a feature; empty for one that may take part."""
    lacking = []
    for name, level in sorted(finalized.items()):
        low, high = supported.get(name, (0, 0))
        if high == 0:
            lacking.append(f"{name} is finalized at {level} and not supported")
        elif not low <= level <= high:
            lacking.append(f"{name} is finalized at {level} and supported from {low} to {high}")
    return lacking
