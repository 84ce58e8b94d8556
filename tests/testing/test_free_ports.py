"""Ports that can be bound, single ones and consecutive ones; no two processes choose from one block."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from random import Random

from signalbox.testing.free_ports import consecutive_ports, free_ports, lock_block

LOCK = """
import sys
from pathlib import Path
from signalbox.testing.free_ports import lock_block
print(lock_block(Path(sys.argv[1])).ports.start, flush=True)
sys.stdin.read()
"""


def test_the_ports_can_be_bound() -> None:
    first = consecutive_ports(3, Random(1))
    for port in range(first, first + 3):
        socket.create_server(("127.0.0.1", port)).close()


def test_ports_in_use_are_passed_over() -> None:
    taken = consecutive_ports(3, Random(1))
    with socket.create_server(("127.0.0.1", taken + 1)):
        found = consecutive_ports(3, Random(1))
    assert taken + 1 not in range(found, found + 3)


def test_any_ports_are_all_different_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_a_process_stays_in_its_block_unless_the_count_is_larger() -> None:
    blocks = {free_ports(3)[0] // 500 for _ in range(20)}
    assert len(blocks) == 1
    assert len(free_ports(600)) == 600


def test_a_forked_child_has_a_block_of_its_own() -> None:
    [ours] = {port // 500 for port in free_ports(3)}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(free_ports(1)[0] // 500).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 10)) != ours


def test_blocks_are_locked_until_their_processes_end(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        theirs = int(process.stdout.readline())
        ours = [lock_block(tmp_path) for _ in range(24)]
        assert sorted([theirs, *(block.ports.start for block in ours[:23])]) == list(range(20_000, 32_000, 500))
        assert ours[23] == (range(20_000, 32_000), -1)
        process.stdin.close()
        process.wait()
        assert lock_block(tmp_path).ports.start == theirs
    for block in ours[:23]:
        os.close(block.lock)
