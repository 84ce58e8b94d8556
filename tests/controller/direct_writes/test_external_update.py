"""What a read of the store found, as one record: only what is newer than the context; None for a deleted entry."""

from __future__ import annotations

import pytest

from signalbox.controller.direct_writes.external_update import ExternalUpdate, SharedRead, external_update
from tests.controller.contexts import make_context

pytestmark = pytest.mark.spec("F17")
CONTEXT = make_context(
    1, topics={"t": {0: "1*"}}, configs={"topics/t": {"k": "1"}, "users/a": {"k": "1"}}, shared_version=4
)


def test_an_older_change_is_left_out_and_a_missing_entry_is_deleted() -> None:
    part = make_context(1, topics={"t": {0: "1*"}, "u": {0: "1"}, "v": {0: "1"}}, configs={"topics/t": {"k": "2"}})
    paths = {"/config/topics/t": 4, "/config/users/a": 5, "/brokers/topics/u": 6, "/brokers/topics/v": 3}
    update = external_update(CONTEXT, SharedRead(6, paths, part))
    assert (update.version, update.configs, update.acls, update.tokens) == (6, {"users/a": None}, {}, {})
    assert [topic.name for topic in update.topics] == ["u"]


def test_after_a_read_of_everything_each_entry_counts_as_newer() -> None:
    read = SharedRead(6, None, make_context(1, configs={"topics/t": {"k": "2"}}))
    assert external_update(CONTEXT, read).configs == {"topics/t": {"k": "2"}, "users/a": None}
    assert read.is_newer(5, "/config/topics/t")


def test_the_update_changes_only_the_mappings_that_it_names() -> None:
    update = ExternalUpdate(5, configs={"topics/t": {"k": "2"}, "users/a": None}, acls={}, tokens={}, topics=())
    copies: dict[str, dict[str, object]] = {}
    update.merge_into(lambda name: copies.setdefault(name, dict(getattr(CONTEXT, name))))
    assert copies == {"configs": {"topics/t": {"k": "2"}}}
