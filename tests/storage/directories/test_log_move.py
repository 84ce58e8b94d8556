"""A log that moves to another directory, and everything that can happen to it meanwhile."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories import log_move
from signalbox.storage.files.background import Done, Work
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.storage.workbench import NOW_MS, TOPIC_ID, TP, append, batch, offsets, records

SMALL_SEGMENTS = LogConfig(segment_bytes=4_096, index_interval_bytes=256, file_delete_delay_ms=0)


class ManualBackground:
    """A background whose jobs run one by one, when the test calls `resume`."""

    closed = False

    def __init__(self) -> None:
        self.jobs: deque[tuple[Work, Done]] = deque()

    def run(self, work: Work, done: Done) -> None:
        self.jobs.append((work, done))

    def resume(self) -> bool:
        """Runs one job. False when there is none."""
        if not self.jobs:
            return False
        work, done = self.jobs.popleft()
        error: BaseException | None = None
        try:
            work()
        except Exception as raised:
            error = raised
        done(error)
        return True

    def close(self) -> None:
        while self.resume():
            pass


class RecordingFileSystem(FaultyFileSystem):
    """Records the new names, and which folders are synced."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        self.steps.append(f"rename {Path(new).name}")

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.steps.append(f"sync {Path(path).name}")


class BrokerLogs:
    """A broker's logs in two directories; the log under test is created in the first."""

    def __init__(self, folder: Path, file_system: FaultyFileSystem | None = None) -> None:
        self.folder = folder
        self.background = ManualBackground()
        self.clock = ManualClock()
        self.file_system = file_system or FaultyFileSystem()
        self.later: list[Callable[[], None]] = []
        self.logs = self._opened()
        self.log = self.logs.create(TP, TOPIC_ID, SMALL_SEGMENTS)
        assert self.log.body.directory.path == self.path("a")

    def _opened(self) -> LogManager:
        paths = [self.path("a"), self.path("b")]
        logs = LogManager(paths, self.file_system, self.clock, self.background)
        logs.moves.throttle.call_later = lambda _, resume: self.later.append(resume)
        logs.start("cluster-a", 1, lambda topic: SMALL_SEGMENTS)
        return logs

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def move(self, to: str = "b") -> None:
        self.logs.moves.move(TP, self.path(to))

    def folders(self, name: str) -> list[str]:
        """The folders in a directory, without the random hexadecimal digits in their names."""
        names = [each.name for each in (self.folder / name).iterdir() if each.is_dir()]
        return sorted(each.split(".")[0] + "-" + each.rpartition("-")[2] if "." in each else each for each in names)

    def end(self) -> None:
        """Runs everything that is waiting, removals too."""
        while self.background.resume() or self.logs.run_retention():
            pass
        while self.background.resume():
            pass

    def restarted(self, *, clean: bool) -> Log:
        """The log as the next process loads it."""
        if clean:
            self.logs.close()
        else:
            self.background.jobs.clear()
            for directory in self.logs.directories:
                directory.unlock()
        self.logs = self._opened()
        found = self.logs.get(TP)
        assert found is not None
        return found


@pytest.fixture
def broker_logs(tmp_path: Path) -> BrokerLogs:
    return BrokerLogs(tmp_path)


@pytest.fixture(autouse=True)
def _small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_move, "ROUND_BYTES", 3_000)
    monkeypatch.setattr(log_move, "LAST_ROUND_BYTES", 500)


def values(log: Log) -> list[bytes | None]:
    return [record.value for record in records(log)]


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_log_moves_while_it_is_appended_to(broker_logs: BrokerLogs, clean: bool) -> None:
    log = broker_logs.log
    for number in range(40):
        append(log, batch(5, producer_id=7, sequence=5 * number, epoch=1), epoch=1)
    log.high_watermark = 150
    broker_logs.move()
    while broker_logs.background.resume():
        if list(broker_logs.logs.moves):
            append(log, batch(1, producer_id=7, sequence=log.log_end_offset, epoch=1), epoch=1)
    assert log.body.directory.path == broker_logs.path("b")
    end = log.log_end_offset
    assert (end > 203, log.high_watermark) == (True, 150)
    on_moved = values(log)
    assert len(on_moved) == end
    append(log, batch(2, producer_id=7, sequence=end, epoch=1), epoch=1)
    assert log.producers[7].next_sequence == end + 2
    broker_logs.end()
    assert (broker_logs.folders("a"), broker_logs.folders("b")) == ([], ["flights-0"])
    log = broker_logs.restarted(clean=clean)
    assert log.body.directory.path == broker_logs.path("b")
    assert values(log)[:end] == on_moved
    assert (log.log_end_offset, log.topic_id, log.producers[7].next_sequence) == (end + 2, TOPIC_ID, end + 2)
    assert log.end_offset_for_epoch(1) == (1, end + 2)


def test_a_reader_keeps_what_it_holds(broker_logs: BrokerLogs) -> None:
    append(broker_logs.log, batch(5))
    held = broker_logs.log.read(0, 1 << 20)
    broker_logs.move()
    broker_logs.end()
    assert broker_logs.folders("a") == []
    now = broker_logs.log.read(0, 1 << 20)
    assert bytes(held.records.read()) == bytes(now.records.read())  # type: ignore[union-attr]


def test_progress_of_a_move(broker_logs: BrokerLogs) -> None:
    for _ in range(40):
        append(broker_logs.log, batch(5))
    broker_logs.move()
    [move] = broker_logs.logs.moves
    assert (move.target.path, 0 < move.size_bytes < broker_logs.log.size_bytes) == (broker_logs.path("b"), True)
    assert 0 < move.offset_lag <= 200
    broker_logs.end()
    assert list(broker_logs.logs.moves) == []


def test_an_empty_log_moves(broker_logs: BrokerLogs) -> None:
    broker_logs.move()
    broker_logs.end()
    append(broker_logs.log, batch(3))
    assert (broker_logs.log.body.directory.path, broker_logs.log.log_end_offset) == (broker_logs.path("b"), 3)
    assert broker_logs.restarted(clean=True).log_end_offset == 3


def test_records_deleted_meanwhile_stay_deleted(broker_logs: BrokerLogs) -> None:
    for _ in range(60):
        append(broker_logs.log, batch(5))
    broker_logs.log.high_watermark = 300
    broker_logs.move()
    for _ in range(3):
        broker_logs.background.resume()
    broker_logs.log.delete_records_before(251)
    broker_logs.end()
    log = broker_logs.log
    assert (log.body.directory.path, log.log_start_offset, log.log_end_offset) == (broker_logs.path("b"), 251, 300)
    first = log.body.segments[0].base_offset
    assert {int(each.stem) for each in (broker_logs.folder / "b" / "flights-0").glob("*.log")} >= {first}
    log = broker_logs.restarted(clean=False)
    assert (log.log_start_offset, log.log_end_offset) == (251, 300)


def test_a_truncation_restarts_the_copy(broker_logs: BrokerLogs) -> None:
    for number in range(40):
        append(broker_logs.log, batch(5, epoch=number // 10), epoch=number // 10)
    broker_logs.move()
    for _ in range(4):
        broker_logs.background.resume()
    broker_logs.log.truncate_to(60)
    for _ in range(10):
        append(broker_logs.log, batch(5, epoch=9, timestamp=NOW_MS + 9_000), epoch=9)
    expected = values(broker_logs.log)
    broker_logs.end()
    assert broker_logs.log.body.directory.path == broker_logs.path("b")
    assert (values(broker_logs.log), broker_logs.log.log_end_offset, broker_logs.log.last_leader_epoch) == (
        expected,
        110,
        9,
    )
    assert (broker_logs.folders("a"), broker_logs.folders("b")) == ([], ["flights-0"])


def test_deleting_a_log_deletes_its_copy(broker_logs: BrokerLogs) -> None:
    append(broker_logs.log, *(batch(5) for _ in range(40)))
    broker_logs.move()
    broker_logs.background.resume()
    broker_logs.logs.delete(TP)
    broker_logs.end()
    broker_logs.logs.run_retention()
    broker_logs.end()
    assert (broker_logs.folders("a"), broker_logs.folders("b"), broker_logs.logs.get(TP)) == ([], [], None)


def test_a_move_to_where_it_is_ends_the_one_to_elsewhere(broker_logs: BrokerLogs) -> None:
    append(broker_logs.log, *(batch(5) for _ in range(40)))
    broker_logs.move()
    broker_logs.background.resume()
    broker_logs.move("a")
    broker_logs.end()
    assert broker_logs.log.body.directory.path == broker_logs.path("a")
    assert (broker_logs.folders("a"), broker_logs.folders("b")) == (["flights-0"], [])


@pytest.mark.parametrize("after", range(1, 9))
def test_a_process_that_dies_in_between_loses_nothing(broker_logs: BrokerLogs, after: int) -> None:
    append(broker_logs.log, *(batch(5) for _ in range(40)))
    expected = values(broker_logs.log)
    broker_logs.move()
    for _ in range(after):
        broker_logs.background.resume()
    log = broker_logs.restarted(clean=False)
    assert values(log) == expected
    broker_logs.end()
    assert sorted(broker_logs.folders("a") + broker_logs.folders("b")) == ["flights-0"]


@pytest.mark.spec("D3")
@pytest.mark.parametrize("gaps", ["compacted_to", "gaps_to"])
def test_records_that_were_appended_to_a_moved_log_with_gaps_survive_a_kill(broker_logs: BrokerLogs, gaps: str) -> None:
    """The kill is before the old copy is deleted, and before the checkpoints are written from the moved log."""
    log = broker_logs.log
    if gaps == "gaps_to":
        log.body.allow_gaps_to(9)
    else:
        log.body.compacted_to = 9
    log.append_as_follower(b"".join(batch(1, offset=offset) for offset in (0, 1, 5, 9, 10)))
    log.flush_appends()
    broker_logs.logs.checkpoint()
    broker_logs.move()
    while log.body.directory.path != broker_logs.path("b"):
        assert broker_logs.background.resume()
    append(log, batch(2))
    log = broker_logs.restarted(clean=False)
    assert offsets(log) == [0, 1, 5, 9, 10, 11, 12]
    assert (log.body.directory.path, getattr(log.body, gaps)) == (broker_logs.path("b"), 9)


@pytest.mark.spec("D3")
def test_gaps_in_the_target_are_durable_before_the_folder_has_its_name(tmp_path: Path) -> None:
    file_system = RecordingFileSystem()
    broker_logs = BrokerLogs(tmp_path, file_system)
    broker_logs.log.body.compacted_to = 9
    broker_logs.log.body.allow_gaps_to(10)
    broker_logs.move()
    while broker_logs.log.body.directory.path != broker_logs.path("b"):
        assert broker_logs.background.resume()
    assert file_system.steps[-5:] == [
        "rename cleaner-offset-checkpoint",
        "sync b",
        "rename gap-offset-checkpoint",
        "sync b",
        "rename flights-0",
    ]


def test_of_two_copies_the_newer_is_kept(broker_logs: BrokerLogs, tmp_path: Path) -> None:
    append(broker_logs.log, batch(5))
    broker_logs.move()
    broker_logs.end()
    old = tmp_path / "a" / "flights-0"
    append(broker_logs.log, batch(5))
    old.mkdir()
    for file in (tmp_path / "b" / "flights-0").glob("*0.log"):
        (old / file.name).write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
    log = broker_logs.restarted(clean=False)
    assert (log.body.directory.path, log.log_end_offset) == (broker_logs.path("b"), 10)
    broker_logs.end()
    assert broker_logs.folders("a") == []


def test_moves_that_are_rejected(broker_logs: BrokerLogs) -> None:
    def rejected(topic_partition: TopicPartition, path: str) -> Error:
        with pytest.raises(KafkaError) as rejection:
            broker_logs.logs.moves.move(topic_partition, path)
        return rejection.value.error

    assert rejected(TP, "/elsewhere") is Error.LOG_DIR_NOT_FOUND
    unborn = TopicPartition("flights", 9)
    assert rejected(unborn, broker_logs.path("b")) is Error.REPLICA_NOT_AVAILABLE
    assert broker_logs.logs.create(unborn, TOPIC_ID, SMALL_SEGMENTS).body.directory.path == broker_logs.path("b")
    broker_logs.logs.directories[1].fail(OSError("gone"), "a test")
    assert rejected(TP, broker_logs.path("b")) is Error.KAFKA_STORAGE_ERROR
    assert rejected(unborn, broker_logs.path("a")) is Error.KAFKA_STORAGE_ERROR


def test_a_directory_that_fails_as_a_target_costs_nothing_here(broker_logs: BrokerLogs) -> None:
    append(broker_logs.log, *(batch(5) for _ in range(40)))
    broker_logs.move()
    broker_logs.background.resume()
    broker_logs.logs.directories[1].fail(OSError("gone"), "a test")
    broker_logs.end()
    append(broker_logs.log, batch(5))
    assert (broker_logs.log.body.directory.path, broker_logs.log.log_end_offset) == (broker_logs.path("a"), 205)
    assert list(broker_logs.logs.moves) == []


@pytest.mark.parametrize("seed", range(20))
def test_random_operations_during_a_move(broker_logs: BrokerLogs, seed: int) -> None:
    """Appends, truncations, deletions, moves in both directions and copy rounds, compared with a list."""
    dice, expected, start = random.Random(seed), list[bytes]([]), 0
    for step in range(300):
        log = broker_logs.log
        match dice.randrange(12):
            case 0:
                end = dice.randrange(max(start, len(expected) - 8), len(expected) + 1)
                log.truncate_to(end)
                del expected[log.log_end_offset :]
            case 1:
                log.high_watermark = log.log_end_offset
                start = dice.randrange(start, len(expected) + 1)
                log.delete_records_before(start)
            case 2:
                broker_logs.move(dice.choice("ab"))
            case 3 | 4 | 5 | 6:
                broker_logs.background.resume()
            case _:
                value = b"%d" % step
                append(log, batch(1, size=dice.randrange(1, 400), timestamp=NOW_MS + step))
                expected.append(value)
    found = [record.offset for record in records(broker_logs.log)]
    assert found == list(range(start, len(expected)))
    times = [record.timestamp for record in records(broker_logs.log)]
    assert times == [NOW_MS + int(value) for value in expected[start:]]
    broker_logs.end()
    again = [record.timestamp for record in records(broker_logs.restarted(clean=seed % 2 == 0))]
    # Log start offsets are checkpointed now and then: after a kill the log may begin earlier, as without any move.
    assert again[len(again) - len(times) :] == times
    assert seed % 2 or again == times
