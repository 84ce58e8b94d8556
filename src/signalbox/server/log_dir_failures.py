"""Handles the failure of a log directory (KIP-112): its partitions go offline at once, the controller is notified so
that it elects other leaders, and a broker without any working directory stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.metadata.entries.log_dir_event import report_log_dir_failure
from signalbox.metadata.store.port import MetadataStore, StoreError
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.log_manager import LogManager

log = logging.getLogger(__name__)
_RETRY_S = 1.0


class LogDirFailures:
    """The log manager's `on_offline` callback. `replicas` and `logs` are set later: they are built with this object."""

    def __init__(self, store: MetadataStore, broker_id: int, fail: Callable[[str], None]) -> None:
        self._store = store
        self._broker_id = broker_id
        self._fail = fail
        self._task: asyncio.Task[None] | None = None
        self.replicas: ReplicaManager | None = None
        self.logs: LogManager | None = None

    def __call__(self, directory: LogDirectory) -> None:
        if self.replicas is not None:
            self.replicas.on_log_failure()
        if self.logs is not None and not self.logs.has_online_directory:
            self._fail("no log directory works any more")
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._report())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _report(self) -> None:
        while True:
            try:
                await report_log_dir_failure(self._store, self._broker_id)
                return
            except StoreError as error:
                log.warning("Log directory failure notification not written: %s", error)
                await asyncio.sleep(_RETRY_S)
