"""A coordinator log in memory: commits at once or on request; can reject appends and lose leadership."""

from __future__ import annotations

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import iter_batch_headers, patch_base_offset_and_epoch


class MemoryLog:
    """Passes `CoordinatorLogContract`. `held`: commits wait for `commit_all`; `rejection`: error of later appends."""

    topic = "__consumer_offsets"

    def __init__(self) -> None:
        self.batches: dict[int, list[bytes]] = {}
        self.leader_epochs: dict[int, int] = {}
        self.held = False
        self.rejection: Error | None = None
        self.reads: list[int] = []
        self.guard_by_append: list[object | None] = []  # of the appends, in order
        self.abandoned: list[object] = []
        self._waiting: list[Promise[None]] = []

    # --- the port

    def append(self, partition: int, leader_epoch: int, batch: bytearray, guard: object | None = None) -> Promise[None]:
        self.guard_by_append.append(guard)
        if self.rejection is not None:
            raise KafkaError(self.rejection)
        self._check_leads(partition)
        if leader_epoch != self.leader_epochs[partition]:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        patch_base_offset_and_epoch(batch, self.end_offset(partition), leader_epoch)
        self.batches.setdefault(partition, []).append(bytes(batch))
        committed: Promise[None] = Promise()
        self._waiting.append(committed)
        if not self.held:
            self.commit_all()
        return committed

    def start_verification(self, partition: int, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        self._check_leads(partition)
        return producer

    def abandon_verification(self, partition: int, producer_id: int, guard: object) -> None:
        self.abandoned.append(guard)

    def start_offset(self, partition: int) -> int:
        self._check_leads(partition)
        return next((header.base_offset for header in self._headers(partition)), 0)

    def end_offset(self, partition: int) -> int:
        self._check_leads(partition)
        return max((header.next_offset for header in self._headers(partition)), default=0)

    def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes:
        self._check_leads(partition)
        self.reads.append(from_offset)
        taken = b""
        for batch, header in zip(self.batches.get(partition, []), self._headers(partition), strict=True):
            if header.next_offset <= from_offset:
                continue
            if taken and len(taken) + len(batch) > max_bytes:
                break
            taken += batch
        return taken

    # --- controls for tests

    def lead(self, partition: int, leader_epoch: int) -> None:
        self.leader_epochs[partition] = leader_epoch

    def lose(self, partition: int) -> None:
        """Another broker is the leader now: pending appends fail."""
        del self.leader_epochs[partition]
        self.fail_all(KafkaError(Error.NOT_LEADER_OR_FOLLOWER))

    def commit_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for committed in waiting:
            committed.complete(None)

    def fail_all(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, []
        for committed in waiting:
            committed.fail(error)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _check_leads(self, partition: int) -> None:
        if partition not in self.leader_epochs:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)

    def _headers(self, partition: int):  # type: ignore[no-untyped-def]
        return list(iter_batch_headers(memoryview(b"".join(self.batches.get(partition, [])))))
