"""Election as the active controller, and the fence that belongs to it.

One atomic commit creates `/controller` for this node's session and raises `/controller_epoch`. From then on every
write of this controller names the version that the epoch entry got by that commit. The next controller raises it, and
all later writes of the old controller are rejected.

Neither entry leaves a cluster without a controller if another program has corrupted it. A claim that names no node, or
that belongs to no session and would never expire, is replaced: if its owner lives, the new epoch fences it. If the
epoch is not a number, the next one is above every epoch that could have been used.

A claim ends with its session. The claim of a controller that is confirmed dead may be replaced earlier: in the same
commit, so that it makes no difference if that controller is alive after all.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from signalbox.metadata.entries.controller_claim import (
    decode_claim,
    decode_controller_epoch,
    encode_claim,
    encode_controller_epoch,
    is_kraft_claim,
)
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind, readable
from signalbox.metadata.entries.feature_levels import (
    NO_FEATURES,
    SUPPORTED_FEATURES,
    UNKNOWN_EPOCH,
    FinalizedFeatures,
    LevelRanges,
    decode_features,
    incompatible,
)
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import CONTROLLER, CONTROLLER_EPOCH, FEATURE, TOPICS
from signalbox.metadata.store.port import (
    Check,
    CommitRejected,
    Create,
    Delete,
    Entry,
    Fence,
    KeyExists,
    MetadataStore,
    Operation,
    Write,
)

log = logging.getLogger(__name__)

_EPOCHS_WITHOUT_TRACE = 1_000  # controller epochs in a row in which nothing was decided


@dataclass(frozen=True, slots=True)
class Claim:
    """A won election."""

    controller_epoch: int
    fence: Fence
    creation_id: int


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of an election: this node is the controller by `claim`, or `controller_id` is (-1: none, or it just
    changed)."""

    controller_id: int
    claim: Claim | None = None


async def try_to_claim(
    store: MetadataStore,
    node_id: int,
    now_ms: int,
    dead_claim: int | None = None,
    supported: LevelRanges = SUPPORTED_FEATURES,
) -> Standing:
    """Become the controller if there is no claim, if an earlier claim of this same node is left, or if the claim is
    the one with the creation id `dead_claim`, whose owner is dead. A node that does not support all finalized features
    does not claim."""
    # First the epoch: a claim that is made after this read raises it, and then the commit below is rejected. So the
    # claim that the commit deletes is always the one that was read.
    epoch = await store.read(CONTROLLER_EPOCH)
    entry = await store.read(CONTROLLER)
    operations: list[Operation] = []
    if entry is not None:
        holder = _holder(entry)
        if holder is not None and holder != node_id and entry.creation_id != dead_claim:
            return Standing(holder)
        if holder is None:  # only then can there be entries below it: an entry of a session has no children
            below = (await store.read_tree(CONTROLLER)).keys() - {CONTROLLER}
            operations += [Delete(path) for path in sorted(below, reverse=True)]
        operations.append(Delete(CONTROLLER, entry.version))
    if epoch is None:
        try:
            await store.commit([Create(CONTROLLER_EPOCH, encode_controller_epoch(0))])
        except KeyExists:
            return Standing(-1)
        epoch = await store.read(CONTROLLER_EPOCH)
        if epoch is None:
            return Standing(-1)
    features = await _finalized(store)
    if lacking := incompatible(supported, features.levels):
        log.error("Node %d cannot become the controller: %s", node_id, "; ".join(lacking))
        return Standing(-1)
    controller_epoch = await _last_epoch(store, epoch) + 1
    operations += [
        *([Check(FEATURE, features.epoch)] if features.epoch != UNKNOWN_EPOCH else []),
        Create(CONTROLLER, encode_claim(node_id, now_ms), of_session=True),
        Write(CONTROLLER_EPOCH, encode_controller_epoch(controller_epoch), epoch.version),
    ]
    try:
        results = await store.commit(operations)
    except CommitRejected:
        return Standing(-1)
    fence = Fence(CONTROLLER_EPOCH, results[-1].version)
    return Standing(node_id, Claim(controller_epoch, fence, results[-2].creation_id))


async def _finalized(store: MetadataStore) -> FinalizedFeatures:
    """The finalized features. A corrupt entry does not prevent an election (`loading.py`)."""
    entry = await store.read(FEATURE)
    return NO_FEATURES if entry is None else readable(decode_features, entry.data, entry.version) or NO_FEATURES


async def still_holds(store: MetadataStore, claim: Claim) -> bool:
    """Whether `/controller` is still the entry that the claim created, and can be read: else no broker finds this
    node."""
    entry = await store.read(CONTROLLER)
    return entry is not None and entry.creation_id == claim.creation_id and _holder(entry) is not None


def _holder(entry: Entry) -> int | None:
    """The node that a claim names; None for an invalid claim."""
    holder = CorruptEntries().read(EntryKind.CLAIM, CONTROLLER, entry.data, lambda _, data: decode_claim(data), None)
    if holder is None:
        return None
    if entry.session_id == 0 and not is_kraft_claim(entry.data):
        log.error(
            "Controller claim without a session is replaced (path=%s, node=%d): it would never expire",
            CONTROLLER,
            holder,
        )
        return None
    return holder


async def _last_epoch(store: MetadataStore, epoch: Entry) -> int:
    """The highest controller epoch that was ever used, or more. Each claim writes the entry once, so its version is
    at least the epoch unless the store was copied; each partition state has the epoch of the controller that decided
    it."""
    stored = CorruptEntries().read(
        EntryKind.CONTROLLER_EPOCH, CONTROLLER_EPOCH, epoch.data, lambda _, data: decode_controller_epoch(data), None
    )
    if stored is not None:
        return stored
    return max(epoch.version, await _highest_epoch_in_states(store)) + _EPOCHS_WITHOUT_TRACE


async def _highest_epoch_in_states(store: MetadataStore) -> int:
    highest = 0
    for path, entry in (await store.read_tree(TOPICS)).items():
        if path.endswith("/state"):
            state = readable(decode_partition_state, path, entry.data, entry.version)
            highest = max(highest, state.controller_epoch if state else 0)
    return highest
