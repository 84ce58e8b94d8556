"""Features of a cluster (KIP-584): the levels that this release supports, and `/feature`, the finalized levels.

Every broker must support a finalized level; a broker that does not cannot be a member of the cluster. The epoch of the
finalized levels is the version of their entry. Kafka's brokers write version 2 of the JSON from 3.3 on and 1 before;
status 0 (a cluster below inter.broker.protocol.version 2.7) means that nothing is finalized.

`signalbox.version` is this project's own feature: data that brokers store and send to each other beyond Kafka (keys of
registrations and topic entries that Kafka's readers ignore, stored responses of forwarded changes). At level 1 a broker
that does not support them cannot join: an older release, or a broker of Apache Kafka on the same store. It is optional.
`transaction.version` is Kafka's (KIP-890): level 1 writes newer records of transactions, level 2 gives each transaction
of a producer its own epoch and lets the producer leave AddPartitionsToTxn to the brokers. Kafka's other features
(metadata.version, group.version ...) promise clients behavior that is not implemented: none of them is supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import FEATURE

UNKNOWN_EPOCH = -1
_VERSION, _DISABLED, _ENABLED = 2, 0, 1

Levels = Mapping[str, int]
LevelRanges = Mapping[str, tuple[int, int]]

TRANSACTION_VERSION = "transaction.version"
SUPPORTED_FEATURES: LevelRanges = {"signalbox.version": (1, 1), TRANSACTION_VERSION: (1, 2)}


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """Finalized levels by feature. `epoch` is -1 if nothing was ever stored. `enabled`: the entry exists and has status
    1. `read_error`: why the entry cannot be read, "" if it can; when it is set, the other fields are meaningless."""

    levels: Levels = field(default_factory=dict)
    epoch: int = UNKNOWN_EPOCH
    enabled: bool = False
    read_error: str = ""


NO_FEATURES = FinalizedFeatures()


def encode_features(levels: Levels) -> bytes:
    """The JSON payload, version 2, enabled."""
    features = {name: {"max_version_level": level} for name, level in levels.items()}
    return encode_json({"version": _VERSION, "status": _ENABLED, "features": features})


def decode_features(data: bytes | None, version: int) -> FinalizedFeatures:
    """The features in a payload of version 1 or 2; `version` is that of the entry. BadEntry names the fault."""
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
    """The finalized features that a broker with these ranges does not support, one line each; empty if it may join."""
    lacking = []
    for name, level in sorted(finalized.items()):
        low, high = supported.get(name, (0, 0))
        if high == 0:
            lacking.append(f"{name} is finalized at {level} and not supported")
        elif not low <= level <= high:
            lacking.append(f"{name} is finalized at {level} and supported from {low} to {high}")
    return lacking
