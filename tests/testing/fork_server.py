"""Nodes of process clusters, forked from a process that has imported the broker.

A new interpreter takes 1.3 s of processor time for the imports of a broker, and the system tests start more than a
thousand brokers. The fork server (`python -m tests.testing.fork_server <descriptor of its socket>`) has imported its
modules, runs no thread and serves nothing. A node is its child: a process in a session of its own, which runs
`python -m <module>` from the module's first line to the end of its interpreter. It differs from a new interpreter in
three things: /proc has the fork server's command line, all nodes have its hash seed, and the fork server is its parent:
so it waits for the node on behalf of the tests. `tests/testing/test_process_cluster.py` starts nodes in both ways.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import IO, Any

_PRELOADED = ("signalbox.wiring.serve", "signalbox.metadata.store.zookeeper.session")
_MESSAGE_BYTES = 262_144


class ForkServer:
    """The tests' end; the process starts with the first node, and ends with the tests' process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def start(self, arguments: Sequence[str], log: IO[bytes]) -> ForkedProcess:
        """A `StartNode`: a child of the fork server, with this process's environment and working directory."""
        readable, writable = os.pipe()
        try:
            request = {
                "start": [*arguments],
                "environment": {**os.environ, "PYTHONUNBUFFERED": "1"},
                "directory": os.getcwd(),
            }
            pid = self.ask(request, writable, log.fileno())
        finally:
            os.close(writable)
        return ForkedProcess(self, pid, os.fdopen(readable, "rb"))

    def ask(self, request: dict[str, Any], *descriptors: int) -> int:
        """The fork server's answer, one number."""
        with self._lock:
            if self._socket is None:
                self._socket = self._started()
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
            return int(self._socket.recv(_MESSAGE_BYTES))

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.testing.fork_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(_end, process, ours)
        return ours


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    ours.close()
    process.wait()


class ForkedProcess:
    """A node (a `NodeProcess`). The fork server keeps its pid until its exit code has been fetched."""

    def __init__(self, server: ForkServer, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self.returncode: int | None = None
        self._server = server
        self._lock = threading.Lock()
        self._handle = os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._handle)

    def poll(self) -> int | None:
        """The exit code (negative: the number of the signal), None while it runs."""
        return self._exit_code(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code. subprocess.TimeoutExpired after so many seconds."""
        code = self._exit_code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"node {self.pid}", timeout or 0.0)
        return code

    def _exit_code(self, timeout: float | None) -> int | None:
        if self.returncode is None and self._has_ended(timeout):
            with self._lock:
                if self.returncode is None:
                    self.returncode = self._server.ask({"reap": self.pid})
        return self.returncode

    def _has_ended(self, timeout: float | None) -> bool:
        ends = select.poll()
        ends.register(self._handle, select.POLLIN)
        return bool(ends.poll(None if timeout is None else timeout * 1000))

    def send_signal(self, sig: int) -> None:
        """Does nothing if it has ended."""
        with self._lock:
            if self.returncode is None:
                signal.pidfd_send_signal(self._handle, sig)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def wait_stopped(self) -> None:
        """Returns when the process has stopped or ended."""
        self._server.ask({"stopped": self.pid})


def _next_node(requests: socket.socket) -> dict[str, Any]:
    """Answers requests. Returns in each child, with the request that it was forked for; in the fork server never."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, _MESSAGE_BYTES, 2)
        if not message:
            sys.exit(0)
        request: dict[str, Any] = json.loads(message)
        answer = 0
        if "start" in request:
            answer = os.fork()
            if answer == 0:
                requests.close()
                _redirect(*descriptors)
                return request
            for descriptor in descriptors:
                os.close(descriptor)
        elif "reap" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["reap"], 0)[1])
        else:
            os.waitid(os.P_PID, request["stopped"], os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        requests.send(b"%d" % answer)


def _redirect(stdout: int, stderr: int) -> None:
    """Makes a child of the fork server the leader of a session with these streams; standard input is empty already."""
    os.setsid()
    for source, target in ((stdout, 1), (stderr, 2)):
        os.dup2(source, target)
        os.close(source)


def main(descriptor: int) -> None:
    """Runs the fork server, and in each of its children the module that it was forked for."""
    for name in _PRELOADED:
        importlib.import_module(name)
    request = _next_node(socket.socket(fileno=descriptor))
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    module, *arguments = request["start"]
    sys.argv[1:] = arguments
    sys.modules.pop(module, None)  # it was imported, and now it is the main module
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
