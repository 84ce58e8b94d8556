"""TxnOffsetCommit 0–6: offsets in a producer's transaction. They are pending until the transaction ends (KIP-98).

The group is checked as for OffsetCommit, with two differences: a producer that gives no member and generation is
accepted in every state (versions 0 to 2), and a rebalance rejects no member of the current generation (KIP-447). The
records are a batch of the transaction; the marker in `__consumer_offsets` makes them count or discards them.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.coordinator.decision import Decision
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_rows import TXN_COMMIT, OffsetRows
from signalbox.coordinator.group.offset_store import NO_EXPIRY
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse


class TxnOffsetCommit:
    def __init__(self, groups: GroupMap, rows: OffsetRows) -> None:
        self._groups = groups
        self._rows = rows

    def commit(
        self, request: TxnOffsetCommitRequest, now_ms: int, image: MetadataImage, guard: object | None = None
    ) -> Decision[TxnOffsetCommitResponse]:
        """Raises KafkaError if the group rejects the whole commit. `guard`: of the transaction's verification."""
        self._check(request)
        decision = self._rows.commit(TXN_COMMIT, request, image, (now_ms, NO_EXPIRY), request.producer_id)
        producer = (request.producer_id, request.producer_epoch)
        return replace(decision, producer=producer, guard=guard) if decision.records else decision

    def _check(self, request: TxnOffsetCommitRequest) -> None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch >= 0:
                raise KafkaError(Error.ILLEGAL_GENERATION)
            return  # the first offset creates the group
        error = group.check_txn_offset_commit(request)
        if error is not Error.NONE:
            raise KafkaError(error)
