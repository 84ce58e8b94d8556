"""The cleaner in a process of its own: the same rounds, and what happens when the process or the broker ends."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.storage.cleaner.worker_port import CleaningFault, SegmentSource, WorkerLimits, WorkerLost, WorkerOutdated
from signalbox.storage.cleaner.worker_process import ProcessWorker
from signalbox.storage.files.file_system import RealFileSystem
from tests.storage.cleaner.cleaning import LIMITS, CompactedLog, keyed, steps

pytestmark = pytest.mark.spec("D6")


@pytest.fixture
def worker() -> Iterator[ProcessWorker]:
    worker = ProcessWorker()
    yield worker
    worker.close()


def filled(folder: Path, worker: ProcessWorker) -> CompactedLog:
    log = CompactedLog(folder, file_system=RealFileSystem())
    log.worker = worker
    for number in range(60):
        log.append(keyed({"a": f"{number}", f"k{number}": "x" * 100}), roll=False)
    log.log.roll()
    return log


def test_rounds_of_several_logs_use_one_process(tmp_path: Path, worker: ProcessWorker) -> None:
    processes = set()
    for name in ("x", "y"):
        log = filled(tmp_path / name, worker)
        before = log.table()
        assert log.clean()
        assert log.table() == before
        assert len(log.offsets()) == 61
        processes.add(_pid(worker))
    assert len(processes) == 1


def test_a_round_whose_process_is_killed_is_aborted_and_the_next_one_succeeds(
    tmp_path: Path, worker: ProcessWorker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = filled(tmp_path, worker)
    before = log.table()
    target = log.cleaner.next_log()
    assert target is not None
    killed = False
    for _ in steps(log.cleaner.clean(target, worker, LIMITS)):
        if not killed and list(tmp_path.rglob("*.cleaned")):
            os.kill(_pid(worker), signal.SIGKILL)
            killed = True
    assert killed
    assert "the cleaner process has ended" in caplog.text
    log.remove_retired()
    assert not list(tmp_path.rglob("*.cleaned"))
    assert log.logs.directories[0].online
    assert log.clean()
    assert log.table() == before


def test_faults_come_back_as_they_are(tmp_path: Path, worker: ProcessWorker) -> None:
    worker.begin(LIMITS)
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    fd = os.open(path, os.O_RDONLY)
    with pytest.raises(CleaningFault, match="no batch begins at position 0"):
        worker.map_segment(SegmentSource(fd, 0, 100, 0, 1))
    os.close(fd)
    path.write_bytes(keyed({"a": "1"})[:-1] + b"?")
    fd = os.open(path, os.O_RDONLY)
    with pytest.raises(CleaningFault, match="its checksum is wrong") as fault:
        worker.map_segment(SegmentSource(fd, 0, path.stat().st_size, 0, 1))
    assert fault.value.offset == 0
    os.close(fd)
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        worker.map_segment(SegmentSource(fd, 0, 100, 0, 1))
    os.close(fd)


def test_a_call_without_a_process_is_lost(worker: ProcessWorker) -> None:
    with pytest.raises(WorkerLost):
        worker.begin_rewriting()


def test_the_reason_of_a_process_that_cannot_start_is_reported(
    worker: ProcessWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/env")
    with pytest.raises(WorkerLost, match=r"has ended .*env: "):
        worker.begin(LIMITS)


_BROKER = """
import sys
from pathlib import Path
from signalbox.storage.cleaner.worker_port import WorkerLimits
from signalbox.storage.cleaner.worker_process import ProcessWorker
worker = ProcessWorker()
worker.begin(WorkerLimits(1, 1, 1.0))
print(worker._process.pid, flush=True)
sys.stdin.read()
"""


def test_the_process_ends_with_its_broker() -> None:
    broker = subprocess.Popen([sys.executable, "-c", _BROKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert broker.stdin is not None
    assert broker.stdout is not None
    pidfd = os.pidfd_open(int(broker.stdout.readline()))
    broker.kill()
    broker.wait()
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    assert poll.poll(30_000)
    os.close(pidfd)
    broker.stdout.close()
    broker.stdin.close()


def _pid(worker: ProcessWorker) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_a_process_that_waits_for_its_rate_can_be_closed(tmp_path: Path, worker: ProcessWorker) -> None:
    log = filled(tmp_path, worker)
    target = log.cleaner.next_log()
    assert target is not None
    cleaning = log.cleaner.clean(target, worker, WorkerLimits(1 << 20, 4096, 0.001))
    next(cleaning)()
    worker.close()
    work = cleaning.send(None)
    with pytest.raises(WorkerLost):
        work()
    cleaning.close()


def test_a_call_ends_when_it_is_killed_from_another_thread(tmp_path: Path, worker: ProcessWorker) -> None:
    log = filled(tmp_path, worker)
    worker.kill()  # without a process
    worker.begin(WorkerLimits(1 << 20, 4096, 0.001))
    segment = log.log.body.segments[0]
    file, errors = segment.file(), list[BaseException]()

    def call() -> None:
        try:
            worker.map_segment(SegmentSource(file.fd, 0, segment.written, 0, 9))
        except WorkerLost as error:
            errors.append(error)

    os.kill(_pid(worker), signal.SIGSTOP)
    thread = threading.Thread(target=call)
    thread.start()
    worker.kill()
    thread.join(30)
    assert not thread.is_alive()
    assert len(errors) == 1
    assert log.clean()  # with another process


def test_another_version_that_was_installed_meanwhile_is_not_used(
    tmp_path: Path, worker: ProcessWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path, worker)
    monkeypatch.setattr("signalbox.storage.cleaner.worker_process.__version__", "0.0.9")
    with pytest.raises(WorkerOutdated, match=r"another version than 0\.0\.9 is installed"):
        worker.begin(LIMITS)
    for _ in range(4):
        assert log.clean()
    assert not log.cleaner.is_uncleanable(log.log)
    monkeypatch.undo()
    assert log.clean()
    assert log.log.body.compacted_to == 120


def test_modules_in_the_working_directory_are_not_imported(
    tmp_path: Path, worker: ProcessWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    worker.begin(LIMITS)


def test_the_kernel_ends_the_process_before_the_broker_when_memory_is_short(worker: ProcessWorker) -> None:
    worker.begin(LIMITS)
    assert Path(f"/proc/{_pid(worker)}/oom_score_adj").read_text().strip() == "500"


def test_a_round_after_a_kill_between_two_calls_has_another_process(worker: ProcessWorker) -> None:
    worker.begin(LIMITS)
    before = _pid(worker)
    worker.kill()
    worker.begin(LIMITS)
    assert _pid(worker) != before
