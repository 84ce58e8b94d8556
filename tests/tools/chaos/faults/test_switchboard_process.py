"""The switchboard of a run: its lines pass bytes and it ends with the process that made it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tools.chaos.faults.switchboard_process import SwitchboardProcess

_ROOT = Path(__file__).resolve().parents[4]
_MADE_AND_KILLED = """
import os, signal
from tools.chaos.faults.switchboard_process import SwitchboardProcess
if __name__ == "__main__":
    print(SwitchboardProcess().add_line("a", ("127.0.0.1", 1))[1], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_line_leads_to_its_target_until_it_rejects_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, SwitchboardProcess() as board:
        address = board.add_line("a", ("127.0.0.1", 1))
        board.set_home("a", server.getsockname()[:2])
        with socket.create_connection(address) as caller:
            caller.sendall(b"x")
            peer, _ = server.accept()
            with peer:
                assert peer.recv(1) == b"x"
        board.refuse_connections("a")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def test_errors_of_the_switchboard_arrive() -> None:
    with SwitchboardProcess() as board:
        with pytest.raises(KeyError):
            board.mute("unknown")
        assert board.add_line("a", ("127.0.0.1", 1))[1] > 0


def test_it_ends_with_a_killed_process(tmp_path: Path) -> None:
    script = tmp_path / "made_and_killed.py"
    script.write_text(_MADE_AND_KILLED)
    # Its output ends when the switchboard, which inherits it, has ended too.
    paths = os.pathsep.join(str(_ROOT / each) for each in (".", "src"))
    made = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(made.stdout)))
