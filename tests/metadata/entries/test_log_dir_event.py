"""A broker's report of a failed log directory."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.log_dir_event import decode_log_dir_event, report_log_dir_failure
from signalbox.metadata.layout import LOG_DIR_EVENTS
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from tests.metadata.participants import run_with_stores


def test_report_is_kafkas() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await report_log_dir_failure(store, 2)
        path = f"{LOG_DIR_EVENTS}/log_dir_event_0000000000"
        entry = await store.read(path)
        assert entry is not None
        assert entry.data == b'{"version":1,"broker":2,"event":1}'
        assert decode_log_dir_event(path, entry.data) == 2

    run_with_stores(1, scenario)


def test_bad_reports_are_named() -> None:
    with pytest.raises(BadEntry, match="/e"):
        decode_log_dir_event("/e", b"{}")
