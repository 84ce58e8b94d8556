"""Opens stores for the commands that copy, back up and restore them, without a broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from signalbox.common.clock import SystemClock
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.metadata_store import check_store, open_store
from signalbox.configuration.zookeeper_access import ACCESS_KEYS
from signalbox.metadata.backup.store_backup import BadBackup as BadBackup
from signalbox.metadata.backup.store_backup import opened_backup, take_backup
from signalbox.metadata.backup.store_copy import CopyRejected, Progress, copy_store
from signalbox.metadata.backup.store_copy import CopyReport as CopyReport
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.port import MetadataStore, StoreError

TOOL_ERRORS = (CopyRejected, BadBackup, StartError, StoreError, OSError)
"""Errors that these functions raise; each message says what is wrong and what to do."""


async def copy(
    source: str, target: str, originals: Mapping[str, str], progress: Progress, dry_run: bool = False
) -> CopyReport:
    """Copies from one setting of signalbox.metadata.store to another. `originals`: a broker's keys, for
    access to ZooKeeper."""
    async with _opened(source, originals, must_exist=True) as old, _opened(target, originals) as new:
        return await copy_store(old, new, progress, dry_run)


async def back_up(source: str, path: Path, originals: Mapping[str, str]) -> int:
    """Returns the number of entries written to a new file."""
    async with _opened(source, originals, must_exist=True) as store:
        return await take_backup(store, path)


async def restore(
    content: bytes, target: str, originals: Mapping[str, str], progress: Progress, dry_run: bool = False
) -> CopyReport:
    """Restores a backup file's bytes into an empty store."""
    backup = await opened_backup(content)
    async with _opened(target, originals) as store:
        return await copy_store(backup, store, progress, dry_run)


@asynccontextmanager
async def _opened(setting: str, originals: Mapping[str, str], must_exist: bool = False) -> AsyncIterator[MetadataStore]:
    if must_exist:
        _reject_missing(setting)
    access = {key: value for key, value in originals.items() if key.startswith("zookeeper.") or key in ACCESS_KEYS}
    access.pop("zookeeper.connect", None)
    values, faults = NODE_CONFIG.read({**access, "signalbox.metadata.store": setting})
    faults += check_store(values)
    if faults:
        raise StartError([ConfigFault(fault.key, fault.entry, fault.problem, fault.remedy) for fault in faults])
    store = await open_store(values, SystemClock())
    try:
        if not must_exist:
            await create_roots(store)
        yield store
    finally:
        await store.close()


def _reject_missing(setting: str) -> None:
    """A source that does not exist is rejected: opening it would create it."""
    file = Path(setting.removeprefix("sqlite:"))
    if setting.startswith("sqlite:") and not file.exists():
        raise CopyRejected(f"{file} is not there")
