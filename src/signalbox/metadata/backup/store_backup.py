"""A backup of a cluster's metadata: one JSON object per line; the first is the header, the last a checksum.

    {"format":"signalbox-metadata","version":1,"cluster_id":"..."}
    {"path":"/brokers/topics/t","data":"{...}"}          (data null for an entry without data)
    {"path":"/brokers/topics/u","base64":"/w=="}         (only a corrupt entry is not text)
    {"entries":412,"sha256":"..."}                        (of all lines before it)

Entries are text in every store (a rule of the port), so a backup can be read, compared and kept under version control.
A restore loses all changes after the backup, ISR changes included: a backup is for the loss of the store itself. It may
contain credentials (SCRAM, passwords in configs): only the owner of the file can read it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signalbox.common.ids import uuid_text
from signalbox.common.visible_text import one_line
from signalbox.metadata import layout
from signalbox.metadata.backup.store_copy import CopyRejected, lasting
from signalbox.metadata.backup.store_incarnation import restored
from signalbox.metadata.backup.stored_epochs import EPOCH_STEP
from signalbox.metadata.entries.cluster_id import read_cluster_id
from signalbox.metadata.entries.controller_claim import decode_controller_epoch, encode_controller_epoch
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.json_text import decode_json, encode_json
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.entries.producer_id_block import above_later_blocks
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import ROOT, Create, MetadataStore, Operation

_FORMAT, _VERSION = "signalbox-metadata", 1
_TRIES = 5


class BadBackup(ValueError):
    """The file is not a backup, or not a complete one."""


async def take_backup(store: MetadataStore, path: Path) -> int:
    """Write a backup of a store that may be in use; returns the number of entries. An existing file is not overwritten
    (FileExistsError). CopyRejected when the store holds no cluster or changes all the time."""
    cluster_id = await read_cluster_id(store)
    if cluster_id is None:
        raise CopyRejected("the store holds no cluster: it has no /cluster/id")
    entries = lasting(await store.read_tree(ROOT))
    for _ in range(_TRIES):
        # Without snapshots an engine reads a tree entry by entry: two equal reads show one moment.
        before, entries = entries, lasting(await store.read_tree(ROOT))
        if before == entries:
            break
    else:
        raise CopyRejected("the store changes all the time: try again when fewer changes are made")
    _write(path, encode_backup(cluster_id, entries))
    return len(entries)


async def opened_backup(content: bytes) -> MetadataStore:
    """A backup file's bytes as a store to copy from, with raised epochs and producer ids. BadBackup.

    The brokers' logs are newer than the backup: an epoch that was used after it must not be used again for other
    records, or replicas could not find where their logs diverge."""
    store = MemoryMetadataStore(SharedEntries())
    entries = decode_backup(content)
    if layout.STORE_INCARNATION in entries:
        # Derived from the file's content, not random: an interrupted restore is run again into the same store.
        incarnation = uuid_text(hashlib.sha256(content).digest()[:16])
        entries[layout.STORE_INCARNATION] = restored(entries[layout.STORE_INCARNATION], incarnation)
    operations: list[Operation] = [Create(path, _raised(path, data)) for path, data in entries.items()]
    await store.commit(operations)
    return store


def encode_backup(cluster_id: str, entries: Mapping[str, bytes | None]) -> bytes:
    """The bytes of the backup file."""
    lines = [_line({"format": _FORMAT, "version": _VERSION, "cluster_id": cluster_id})]
    for path, data in entries.items():
        lines.append(_line({"path": path, **_shown(data)}))
    body = b"".join(lines)
    return body + _line({"entries": len(entries), "sha256": hashlib.sha256(body).hexdigest()})


def decode_backup(content: bytes) -> dict[str, bytes | None]:
    """Path and data of every entry. BadBackup names the fault."""
    lines = content.splitlines(keepends=True)
    try:
        first, *rows, last = (json.loads(line) for line in lines)
        if (first["format"], first["version"]) != (_FORMAT, _VERSION):
            raise BadBackup(one_line(f"it is of format {first['format']!r}, version {first['version']!r}", 200))
        entries = {str(row["path"]): _data_of(row) for row in rows}
        is_complete = last["entries"] == len(rows) == len(entries)
        proof = last["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, BadBackup):
            raise
        raise BadBackup(f"it is no backup, or was cut short: {_fault_of(error)}") from error
    if not is_complete or proof != hashlib.sha256(b"".join(lines[:-1])).hexdigest():
        raise BadBackup("it is not as it was written: entries are missing or changed")
    return entries


def _fault_of(error: Exception) -> str:
    """In words, and without content of the file, which may be a secret."""
    if isinstance(error, KeyError):
        return f"a line has no {error.args[0]}"
    if isinstance(error, UnicodeDecodeError):
        return "a line is not text"
    if isinstance(error, json.JSONDecodeError):
        return "a line is not JSON"
    return "its lines are not those of a backup"


def _shown(data: bytes | None) -> dict[str, str | None]:
    try:
        return {"data": None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data or b"").decode()}


def _data_of(row: Mapping[str, Any]) -> bytes | None:
    if "base64" in row:
        return base64.b64decode(row["base64"], validate=True)
    return None if row["data"] is None else str(row["data"]).encode()


def _raised(path: str, data: bytes | None) -> bytes | None:
    if path == layout.CONTROLLER_EPOCH:
        return _with_raised_controller_epoch(data)
    if path == layout.PRODUCER_ID_BLOCK:
        return above_later_blocks(data)
    if data is None or not (path.startswith(layout.TOPICS + "/") and path.endswith("/state")):
        return data
    state = readable(decode_partition_state, path, data, 0)
    if state is None:
        return data  # already corrupt when the backup was taken: quarantined until it is corrected
    return encode_json({**decode_json(data, path), "leader_epoch": state.leader_epoch + EPOCH_STEP})


def _with_raised_controller_epoch(data: bytes | None) -> bytes | None:
    epoch = readable(decode_controller_epoch, data)
    if epoch is None:
        return data  # already corrupt: the next controller determines it again
    return encode_controller_epoch(epoch + EPOCH_STEP)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
