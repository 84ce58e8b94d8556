import os
from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.leader_epochs import LeaderEpochs

pytestmark = pytest.mark.spec("D3")


def epochs(path: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs(str(path / "leader-epoch-checkpoint"), RealFileSystem())
    for epoch, offset in entries:
        made.assign(epoch, offset)
    return made


def listed(of: LeaderEpochs) -> list[tuple[int, int]]:
    return list(zip(of.epochs, of.start_offsets, strict=True))


def test_saved_and_loaded_in_kafkas_form(tmp_path: Path) -> None:
    epochs(tmp_path, (0, 0), (3, 100)).save()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 100\n"
    again = epochs(tmp_path)
    assert again.load()
    assert listed(again) == [(0, 0), (3, 100)]


def test_a_broken_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n7\nrubbish\n")
    found = epochs(tmp_path, (1, 1))
    assert not found.load()
    assert found.latest == -1


def test_no_file_is_not_an_empty_one(tmp_path: Path) -> None:
    assert not epochs(tmp_path).load()
    epochs(tmp_path).save()
    assert epochs(tmp_path).load()


def test_what_has_changed_is_made_durable_once(tmp_path: Path) -> None:
    class Syncs(RealFileSystem):
        count = 0

        def fsync(self, fd: int) -> None:  # type: ignore[override]
            self.count += 1
            os.fsync(fd)

    file_system = Syncs()
    changed = LeaderEpochs(str(tmp_path / "leader-epoch-checkpoint"), file_system)
    changed.make_durable()
    assert file_system.count == 0
    changed.assign(1, 0)
    changed.save()
    assert file_system.count == 0
    changed.make_durable()
    synced = file_system.count
    changed.make_durable()
    assert synced == file_system.count > 0


@pytest.mark.parametrize(
    ("requested_epoch", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),  # older than the first known epoch: where that one begins
        (1, (1, 20)),
        (2, (1, 20)),  # epoch 2 has no records: epoch 1 ends where the next known epoch begins
        (4, (4, 30)),
        (6, (6, 99)),
        (7, (-1, -1)),
    ],
)
def test_end_offset_of_a_leader_epoch(tmp_path: Path, requested_epoch: int, answer: tuple[int, int]) -> None:
    assert epochs(tmp_path, (1, 10), (4, 20), (6, 30)).end_offset_for(requested_epoch, 99) == answer


def test_nothing_is_known_of_an_empty_log(tmp_path: Path) -> None:
    assert epochs(tmp_path).end_offset_for(3, 0) == (-1, -1)
    assert epochs(tmp_path).epoch_of(3) == -1


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ((4, 50), [(1, 10), (4, 20)]),  # already known
        ((5, 40), [(1, 10), (4, 20), (5, 40)]),
        ((5, 20), [(1, 10), (5, 20)]),  # epoch 4 has no records
        ((5, 5), [(5, 5)]),
        ((2, 15), [(1, 10), (2, 15)]),  # the leader's epoch replaces later ones
        ((-1, 90), [(1, 10), (4, 20)]),
    ],
)
def test_a_new_leader_epoch_replaces_conflicting_entries(
    tmp_path: Path, assigned: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    leader_epochs = epochs(tmp_path, (1, 10), (4, 20))
    leader_epochs.assign(*assigned)
    assert listed(leader_epochs) == expected


def test_later_epochs_met_in_the_log_are_noted_once(tmp_path: Path) -> None:
    leader_epochs = epochs(tmp_path, (1, 10))
    leader_epochs.assign_if_later(1, 11)
    leader_epochs.assign_if_later(0, 12)
    leader_epochs.assign_if_later(2, 13)
    assert listed(leader_epochs) == [(1, 10), (2, 13)]


def test_truncation_from_both_ends(tmp_path: Path) -> None:
    leader_epochs = epochs(tmp_path, (1, 10), (4, 20), (6, 30))
    assert leader_epochs.truncate_from_end(30)
    assert not leader_epochs.truncate_from_end(21)
    assert listed(leader_epochs) == [(1, 10), (4, 20)]
    assert leader_epochs.truncate_from_start(15)
    assert not leader_epochs.truncate_from_start(15)
    assert listed(leader_epochs) == [(1, 15), (4, 20)]
    assert leader_epochs.truncate_from_start(50)
    assert listed(leader_epochs) == [(4, 50)]


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    leader_epochs = epochs(tmp_path, (1, 10), (4, 20))
    assert [leader_epochs.epoch_of(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 1, 1, 4, 4]
