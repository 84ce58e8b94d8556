"""Leader epochs of a log: the start offset of each leader epoch (KIP-101, KIP-279).

Kept in `leader-epoch-checkpoint`, which is replaced at every change. A follower compares its own epochs with those of
its leader to find where their logs diverge; truncation removes the epochs behind the new end.
"""

from __future__ import annotations

import os
from bisect import bisect_right

from signalbox.storage.files.checkpoint_file import CheckpointFault, read_lines, write_lines
from signalbox.storage.files.file_system import FileSystem

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    """Epochs and start offsets, both ascending."""

    __slots__ = ("_file_system", "_is_durable", "_path", "epochs", "start_offsets")

    def __init__(self, path: str, file_system: FileSystem) -> None:
        self._path = path
        self._file_system = file_system
        self._is_durable = True
        self.epochs: list[int] = []
        self.start_offsets: list[int] = []

    @property
    def latest(self) -> int:
        """The latest epoch, -1 if there is none."""
        return self.epochs[-1] if self.epochs else UNDEFINED_EPOCH

    def relocate(self, path: str) -> None:
        """Uses `path` from now on, where a copy is."""
        self._path = path

    def load(self) -> bool:
        """Reads the file; False if there is none or it cannot be read: the batches have their epochs too."""
        try:
            entries = sorted((int(epoch), int(offset)) for epoch, offset in read_lines(self._path, 2))
            is_there = bool(entries) or os.path.exists(self._path)
        except (CheckpointFault, ValueError):
            entries, is_there = [], False
        self.epochs = [epoch for epoch, _ in entries]
        self.start_offsets = [offset for _, offset in entries]
        return is_there

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Records that `epoch` begins at `start_offset`; False if nothing changes. The caller saves it.

        Entries that contradict it (later epochs, or epochs that begin at or after the offset) are removed: the leader's
        start of its epoch replaces older information.
        """
        if epoch < 0 or epoch == self.latest:
            return False
        while self.epochs and (self.epochs[-1] >= epoch or self.start_offsets[-1] >= start_offset):
            self.epochs.pop()
            self.start_offsets.pop()
        self.epochs.append(epoch)
        self.start_offsets.append(start_offset)
        return True

    def assign_if_later(self, epoch: int, start_offset: int) -> None:
        """Records an epoch that was found while reading the log; earlier epochs are already present."""
        if epoch > self.latest:
            self.assign(epoch, start_offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(the largest known epoch not above `epoch`, its end offset); (-1, -1) if there is none."""
        if epoch == UNDEFINED_EPOCH or not self.epochs:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.epochs[-1]:
            return epoch, log_end_offset
        slot = bisect_right(self.epochs, epoch)
        if slot == len(self.epochs):
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if slot == 0:
            return epoch, self.start_offsets[0]
        return self.epochs[slot - 1], self.start_offsets[slot]

    def epoch_of(self, offset: int) -> int:
        """The epoch in which `offset` was written, -1 if unknown."""
        slot = bisect_right(self.start_offsets, offset) - 1
        return self.epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> bool:
        """Removes epochs that begin at or after `end_offset`; True if there were any."""
        before = len(self.epochs)
        while self.start_offsets and self.start_offsets[-1] >= end_offset:
            self.epochs.pop()
            self.start_offsets.pop()
        return len(self.epochs) != before

    def truncate_from_start(self, start_offset: int) -> bool:
        """Removes epochs that end before `start_offset`; the epoch that contains it now begins there."""
        slot = bisect_right(self.start_offsets, start_offset) - 1
        if slot < 0 or (slot == 0 and self.start_offsets[0] == start_offset):
            return False
        del self.epochs[:slot]
        del self.start_offsets[:slot]
        self.start_offsets[0] = start_offset
        return True

    def clear(self) -> None:
        """Removes all epochs."""
        self.epochs, self.start_offsets = [], []

    def make_durable(self) -> None:
        """Writes the file so that it survives a loss of power, unless it does already."""
        if not self._is_durable:
            self.save(sync=True)

    def save(self, sync: bool = False) -> None:
        """Replaces the file."""
        lines = (f"{epoch} {offset}" for epoch, offset in zip(self.epochs, self.start_offsets, strict=True))
        write_lines(self._file_system, self._path, lines, sync)
        self._is_durable = sync
