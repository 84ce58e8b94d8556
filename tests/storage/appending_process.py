"""A process that appends until it is killed and prints the log end offset after every flush."""

from __future__ import annotations

import sys

from signalbox.common.clock import SystemClock
from signalbox.common.ids import ZERO_UUID
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.storage.workbench import NOW_MS, TP, batch


def main(folder: str) -> None:
    logs = LogManager([folder], RealFileSystem(), SystemClock())
    logs.start("cluster-a", 1)
    log = logs.create(TP, ZERO_UUID, LogConfig(segment_bytes=20_000, index_interval_bytes=500))
    sequence = max(log.log_end_offset, 0)
    while True:
        for _ in range(7):
            log.append_as_leader(batch(3, size=50, producer_id=7, sequence=sequence), 0, NOW_MS)
            sequence += 3
        logs.flush_appends()
        print(log.log_end_offset, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
