"""The batches of aborted transactions in a Fetch response, which `isolation.level=read_committed` does not return.

The broker returns records up to the last stable offset, and of each aborted transaction that concerns them the producer
id and the first offset. From that offset on all transactional batches of the producer are aborted, up to its abort
marker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.protocol.records.transaction_marker import read_marker

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ISOLATION_LEVELS = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
"""Kafka's numbers of `isolation.level` in Fetch and ListOffsets."""


def end_offset(row: Any, isolation_level: str) -> int:
    """The offset behind the last record of a partition that is returned; `row` is that of a FetchResponse."""
    offset = row.last_stable_offset if ISOLATION_LEVELS[isolation_level] == READ_COMMITTED else row.high_watermark
    return int(offset)


class AbortedTransactions:
    """`rows`: the `AbortedTransactions` of a partition in a FetchResponse; empty with read_uncommitted."""

    def __init__(self, rows: Iterable[Any]) -> None:
        ordered = sorted((row.first_offset, row.producer_id) for row in rows)
        self._to_come = deque(ordered)
        self._open: set[int] = set()

    def hides(self, view: memoryview, header: BatchHeader) -> bool:
        """Whether a batch is not for the application: a control batch, or one of an aborted transaction. For all
        batches of the response, in order."""
        while self._to_come and self._to_come[0][0] <= header.last_offset:
            self._open.add(self._to_come.popleft()[1])
        if header.is_control:
            if header.producer_id in self._open:
                marker = read_marker(view[header.position : header.position + header.size_bytes])
                if marker is not None and not marker.is_commit:
                    self._open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._open
