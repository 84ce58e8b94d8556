from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.storage.directories.directory_checkpoints import DirectoryCheckpoints
from signalbox.storage.files.checkpoint_file import CheckpointFault, read_offsets
from signalbox.storage.files.faulty_file_system import FaultyFileSystem

pytestmark = pytest.mark.spec("D2")

NAME = "recovery-point-offset-checkpoint"
A, B = TopicPartition("a", 0), TopicPartition("b", 1)


class Checkpoints:
    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.disk = FaultyFileSystem()
        self.files = DirectoryCheckpoints(str(folder), self.disk)

    @property
    def stored(self) -> dict[TopicPartition, int]:
        return read_offsets(str(self.path))


@pytest.fixture
def made(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path)


def test_a_checkpoint_is_written_if_its_content_is_new(made: Checkpoints) -> None:
    made.files.write(NAME, {A: 1}, sync=False)
    assert made.stored == made.files.given(NAME) == {A: 1}
    written = made.disk.calls["rename"]
    made.files.write(NAME, {A: 1}, sync=False)
    assert made.files.prepare(NAME, {A: 1}) is None
    assert made.disk.calls["rename"] == written
    made.files.write(NAME, {A: 1}, sync=True)
    assert (made.disk.calls["rename"], made.disk.calls["fsync"]) == (written + 1, 1)


def test_a_prepared_write_is_of_the_offsets_at_that_time(made: Checkpoints) -> None:
    offsets = {A: 1}
    work = made.files.prepare(NAME, offsets)
    offsets[A] = 2
    assert work is not None
    assert not made.path.exists()
    work()
    assert made.stored == {A: 1}


def test_a_write_that_comes_too_late_is_left_out(made: Checkpoints) -> None:
    late = made.files.prepare(NAME, {A: 1})
    made.files.write(NAME, {A: 2, B: 3}, sync=False)
    assert late is not None
    late()
    assert made.stored == {A: 2, B: 3}
    first, second = made.files.prepare(NAME, {A: 4}), made.files.prepare(NAME, {A: 5})
    assert first is not None
    assert second is not None
    first()
    assert made.stored == {A: 2, B: 3}
    second()
    assert made.stored == {A: 5}


def test_what_is_above_an_offset(made: Checkpoints) -> None:
    made.files.prepare(NAME, {A: 5})
    assert made.files.is_any_above(A, 4), "it is about to be in the file"
    assert not made.files.is_any_above(A, 5)
    assert not made.files.is_any_above(B, 0)


def test_an_intact_file_is_known(made: Checkpoints) -> None:
    assert (made.files.read(NAME), made.files.has_read(NAME)) == ({}, False)
    made.files.write(NAME, {}, sync=False)
    assert not made.path.exists(), "this is its content already"
    made.files.write(NAME, {A: 1}, sync=False)
    again = DirectoryCheckpoints(str(made.path.parent), made.disk)
    assert (again.read(NAME), again.has_read(NAME)) == ({A: 1}, True)
    made.path.write_text("garbage")
    broken = DirectoryCheckpoints(str(made.path.parent), made.disk)
    with pytest.raises(CheckpointFault):
        broken.read(NAME)
    assert not broken.has_read(NAME)


def test_a_fault_of_the_disk(made: Checkpoints) -> None:
    work = made.files.prepare(NAME, {A: 1})
    assert work is not None
    made.disk.fail("rename")
    with pytest.raises(OSError):
        work()
    made.disk.heal()
    made.files.write(NAME, {A: 1}, sync=False)
    assert made.stored == {A: 1}, "the same content is written again"
