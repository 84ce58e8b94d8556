"""Files of a replacement of segments by a compacted one that the last run did not complete (Kafka's names and order).

    the last run wrote       the next start
    ----------------------   -----------------------------------------------------------------------------------
    `.cleaned`               removes it, and every `.swap` from its offset on: the new segment is not complete
    `.swap`                  completes the swap: removes the segments that the new one contains, and renames it
    `.deleted`               removes it: what replaces it has its name already

A new segment is durable before it becomes a `.swap`, and the old ones become `.deleted` after that. So at each instant
all records that are to stay exist, in the old segments or in the new one. The folder is not synced between the renames:
after a power failure that is true on file systems that keep their order (ext4, XFS).
"""

from __future__ import annotations

import os

from signalbox.storage.files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    offset_of,
)
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.files.open_files import OpenFile
from signalbox.storage.segments.segment_scan import scan_headers


def complete_swaps(folder: str, file_system: FileSystem) -> None:
    """Completes or removes what the last run left in a partition's folder, and removes indexes without a log file."""
    names = os.listdir(folder)
    cleaned_from = min((o for o in map(_offset, names) if o is not None), default=None)
    for name in names:  # first: without a `.cleaned`, they would count as complete
        swapped = _offset_with(name, SWAP_SUFFIX)
        if swapped is not None and cleaned_from is not None and swapped >= cleaned_from:
            file_system.remove(os.path.join(folder, name))
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")):
            file_system.remove(os.path.join(folder, name))
    _swap_in(folder, file_system)
    _remove_orphans(folder, file_system)


def _swap_in(folder: str, file_system: FileSystem) -> None:
    names = sorted(os.listdir(folder))
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    ranges = [_range(folder, name, file_system) for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    for name in names:
        for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX):
            offset = offset_of(name, suffix)
            if offset is not None and any(begin <= offset < end for begin, end in ranges):
                file_system.remove(os.path.join(folder, name))
    for name in swaps:
        path = os.path.join(folder, name)
        file_system.rename(path, path.removesuffix(SWAP_SUFFIX))
    if swaps:
        file_system.sync_directory(folder)


def _range(folder: str, name: str, file_system: FileSystem) -> tuple[int, int]:
    """The offsets that a new segment contains; at least its first one."""
    begin = _offset_with(name, SWAP_SUFFIX)
    assert begin is not None
    path = os.path.join(folder, name)
    file, end = OpenFile(file_system, path), begin + 1
    for batch in scan_headers(file_system, file.fd, 0, os.path.getsize(path)):
        end = max(end, batch.next_offset)
    return begin, end


def _remove_orphans(folder: str, file_system: FileSystem) -> None:
    names = os.listdir(folder)
    logs = {name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)}
    for name in names:
        for suffix in SEGMENT_SUFFIXES[1:]:
            if offset_of(name, suffix) is not None and name.removesuffix(suffix) not in logs:
                file_system.remove(os.path.join(folder, name))


def _offset(name: str) -> int | None:
    return _offset_with(name, CLEANED_SUFFIX)


def _offset_with(name: str, ending: str) -> int | None:
    """The offset of a segment file with this ending behind its suffix; None for any other name."""
    segment_name = name.removesuffix(ending)
    if segment_name == name:
        return None
    return next((o for suffix in SEGMENT_SUFFIXES if (o := offset_of(segment_name, suffix)) is not None), None)
