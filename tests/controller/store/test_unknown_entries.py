"""Unknown entries: paths that the layout does not define."""

from __future__ import annotations

import pytest

from signalbox.controller.store.unknown_entries import below, unknown_entries_in
from signalbox.metadata.store.port import Entry

ENTRY = Entry(None, 0, 1, 0)


@pytest.mark.parametrize(
    "path",
    [
        "/brokers/topics",
        "/brokers/topics/t/partitions/10/state",
        "/admin/delete_topics/t",
        "/config/topics/t",
        "/config/users/a/clients/<default>",
        "/delegation_token/tokens/t",
        "/signalbox_forwarded/1-2-3",
    ],
)
def test_what_has_its_place(path: str) -> None:
    assert unknown_entries_in({path: ENTRY}) == ()


@pytest.mark.parametrize(
    "path",
    [
        "/brokers/topics/t/note",
        "/brokers/topics/t/partitions/x",
        "/brokers/topics/t/partitions/01",
        "/brokers/topics/t/partitions/0/note",
        "/brokers/topics/t/partitions/0/state/note",
        "/admin/delete_topics/t/note",
        "/config/topics/t/note",
        "/config/users/a/note",
        "/config/users/a/clients/b/note",
        "/delegation_token/tokens/t/note",
        "/signalbox_forwarded/1-2-3/note",
    ],
)
def test_what_has_none(path: str) -> None:
    assert unknown_entries_in({path: ENTRY}) == (path,)


def test_the_deepest_come_first() -> None:
    tree = dict.fromkeys(("/brokers/topics/t/a", "/brokers/topics/t/a/b", "/brokers/topics/tt/a"), ENTRY)
    unknown = unknown_entries_in(tree, {})
    assert list(below("/brokers/topics/t", unknown)) == ["/brokers/topics/t/a/b", "/brokers/topics/t/a"]
