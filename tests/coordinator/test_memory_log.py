from __future__ import annotations

from tests.coordinator.log_contract import CoordinatorLogContract
from tests.coordinator.memory_log import MemoryLog


class TestMemoryLog(CoordinatorLogContract):
    async def open_log(self) -> MemoryLog:
        log = MemoryLog()
        log.lead(0, 5)
        return log
