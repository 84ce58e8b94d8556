"""A real ZooKeeper ensemble on loopback, of Debian's package `zookeeper`, stopped with the process that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from signalbox.testing.free_ports import free_ports

JAR = Path("/usr/share/java/zookeeper.jar")
# The jar names its dependencies, but for these two, which TLS needs; they are in the package too.
_CLASS_PATH = os.pathsep.join(str(JAR.with_name(name)) for name in (JAR.name, "netty-codec.jar", "netty-resolver.jar"))
# The first compiler and the serial collector: a JVM of a short run takes a third less processor time to start.
QUICK_JAVA = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_READY_S = 60
TICK_MS = 200  # sessions may be as short as two of these


class ZooKeeperServer:
    """One server of an ensemble; `peers` are the (quorum port, election port) of all, empty for a server alone.
    `settings` go into its zoo.cfg, `java` are options of its Java."""

    def __init__(
        self,
        folder: Path,
        server_id: int = 1,
        peers: list[tuple[int, int]] | None = None,
        settings: Mapping[str, str] | None = None,
        java: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._java = java
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_ports(1)[0]
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"dataDir={folder}",
            f"tickTime={TICK_MS}",
            "initLimit=50",
            "syncLimit=25",
            f"clientPort={self.port}",
            "clientPortAddress=127.0.0.1",
            "admin.enableServer=false",
            "maxSessionTimeout=60000",
            "4lw.commands.whitelist=*",
            *(f"{key}={value}" for key, value in (settings or {}).items()),
            *(
                f"server.{number}=127.0.0.1:{quorum}:{election}"
                for number, (quorum, election) in enumerate(peers or (), 1)
            ),
        ]
        (folder / "zoo.cfg").write_text("\n".join(lines) + "\n")
        (folder / "myid").write_text(str(server_id))

    @property
    def data_folder(self) -> Path:
        """The folder of its transaction logs and snapshots."""
        return self._folder

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server; `wait` returns when it serves."""
        if not JAR.exists():
            raise RuntimeError(f"{JAR} is not there: apt-get install zookeeper")
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["java", "-Xmx256m", *QUICK_JAVA, *self._java, "-cp", _CLASS_PATH,
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(self._folder / "zoo.cfg")],
                stdout=log, stderr=log,
            )  # fmt: skip

    def wait(self) -> None:
        """Waits until the server serves (as leader, follower or standalone)."""
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                if serves(self.port):
                    return
            time.sleep(0.05)
        raise RuntimeError(f"ZooKeeper does not serve: {(self._folder / 'server.log').read_text()[-3000:]}")

    def pause(self) -> None:
        """SIGSTOP. Returns when the process has stopped: until then its threads still respond."""
        self._signal(signal.SIGSTOP)
        if self._process is not None:
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and waits for the process."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _signal(self, number: int) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            os.kill(self._process.pid, number)


def serves(port: int) -> bool:
    """True if the server at a loopback port serves (as leader, follower or standalone). OSError: it does not listen."""
    with socket.create_connection(("127.0.0.1", port), 1) as sock:
        sock.sendall(b"srvr")
        return b"Mode:" in sock.makefile("rb").read()


@contextlib.contextmanager
def ensemble(
    folder: Path, servers: int = 1, settings: Mapping[str, str] | None = None, java: Sequence[str] = ()
) -> Iterator[list[ZooKeeperServer]]:
    """A running ensemble; killed at the end. `settings` and `java` are for each of its servers."""
    peers = []
    if servers > 1:
        ports = free_ports(2 * servers)
        peers = list(zip(ports[::2], ports[1::2], strict=True))
    started = [
        ZooKeeperServer(folder / f"zookeeper-{number}", number, peers, settings, java)
        for number in range(1, servers + 1)
    ]
    try:
        for server in started:
            server.start()
        for server in started:
            server.wait()
        yield started
    finally:
        for server in started:
            server.kill()
