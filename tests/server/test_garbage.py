"""When cyclic garbage is collected: old objects only while the broker is idle, or when its memory has grown."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.image import MetadataImage, TopicImage
from signalbox.server import garbage as module
from signalbox.server.garbage import _EVERYTHING_AFTER, Garbage


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.freeze()  # as after the collection of the tests


def full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


def test_a_busy_broker_freezes_and_an_idle_one_collects() -> None:
    work = [0]
    garbage = Garbage(lambda: work[0])
    garbage._collect_all()
    begun = full_collections()
    for _ in range(_EVERYTHING_AFTER + 5):
        work[0] += 1
        garbage.check()
    assert full_collections() == begun
    for _ in range(_EVERYTHING_AFTER):
        garbage.check()
    assert full_collections() == begun + 1
    garbage.check()
    assert full_collections() == begun + 1, "once in an idle time"


def test_what_lives_is_frozen() -> None:
    """`gc.get_objects` has all objects but the frozen ones. Their number says nothing: present garbage holds some."""
    garbage = Garbage(lambda: 0)
    garbage._collect_all()
    kept = [[0]]
    assert any(each is kept for each in gc.get_objects())
    garbage.check()
    assert not any(each is kept for each in gc.get_objects())


def test_a_broker_that_grows_under_load_looks_at_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks, work = [100_000], [0]
    monkeypatch.setattr(module, "_blocks", lambda: blocks[0])
    garbage = Garbage(lambda: work[0])
    garbage._collect_all()
    begun = full_collections()

    def collections_at(now: int) -> int:
        blocks[0] = now
        work[0] += 1
        garbage.check()
        return full_collections() - begun

    assert [collections_at(now) for now in (150_000, 150_001, 150_001, 225_001, 225_001)] == [0, 1, 1, 1, 1]
    assert collections_at(225_002) == 2


def image_with(**counts: int) -> MetadataImage:
    """Topics with so many partitions."""
    topics = {name: TopicImage(name, ZERO_UUID, dict.fromkeys(range(count))) for name, count in counts.items()}  # type: ignore[arg-type]
    return MetadataImage({}, topics, {})


def test_new_partitions_are_no_reason_to_look_at_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks, work = [100_000], [0]
    monkeypatch.setattr(module, "_blocks", lambda: blocks[0])
    garbage = Garbage(lambda: work[0])
    garbage._collect_all()
    begun = full_collections()
    before = image_with(old=1)
    after = image_with(old=1, new=1_000)
    garbage.image_replaced(before, after, {"new"})
    for blocks[0], expected in ((300_000, 0), (400_000, 1)):
        work[0] += 1
        garbage.check()
        assert full_collections() == begun + expected
    garbage.image_replaced(after, before, {"new"})
