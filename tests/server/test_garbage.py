"""When cyclic garbage is collected: old objects only while the broker is idle, or when its memory has grown."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

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
    resident, objects, work = [100 << 20], [1_000], [0]
    monkeypatch.setattr(module, "_resident_bytes", lambda: resident[0])
    monkeypatch.setattr(module, "_frozen_objects", lambda: objects[0])
    garbage = Garbage(lambda: work[0])
    garbage._collect_all()
    begun = full_collections()
    for megabytes, objects[0], expected in (
        (181, 9_000, 0),
        (183, 1_501, 1),
        (183, 1_501, 1),
        (400, 2_251, 1),  # buffers have grown: that is the size from which memory grows now
        (631, 9_000, 1),
        (633, 9_000, 2),
    ):
        resident[0] = megabytes << 20
        work[0] += 1
        garbage.check()
        assert full_collections() == begun + expected
