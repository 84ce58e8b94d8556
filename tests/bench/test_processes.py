"""The processor time of a process contains that of threads that have ended, and of its children if they are wanted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from bench.processes import cpu_seconds, cpu_seconds_with_children

_WORK_S = 0.2
_TICK_S = 0.02  # of ended children the kernel counts ticks: user and system time are rounded


def _work() -> None:
    began = time.thread_time()
    while time.thread_time() - began < _WORK_S:
        pass


def test_an_ended_thread_counts() -> None:
    before = cpu_seconds(os.getpid())
    thread = threading.Thread(target=_work)
    thread.start()
    thread.join()
    assert cpu_seconds(os.getpid()) - before >= _WORK_S


def test_it_is_the_processor_time_of_that_process() -> None:
    child = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = cpu_seconds(process.pid)
        _work()
        assert 0 < before <= cpu_seconds(process.pid) < before + _WORK_S
        process.stdin.write(b"\n")


def test_children_count_while_they_run_and_after_their_end() -> None:
    spin = f"import time\nwhile time.process_time() < {_WORK_S}: pass\nprint(flush=True); input()"
    before = cpu_seconds_with_children(os.getpid())
    with subprocess.Popen([sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        running = cpu_seconds_with_children(os.getpid())
        assert running - before >= _WORK_S
        process.communicate(b"\n")
    assert cpu_seconds_with_children(os.getpid()) >= running - _TICK_S


def test_a_process_that_does_not_exist_is_an_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(ProcessLookupError):
        cpu_seconds(process.pid)
