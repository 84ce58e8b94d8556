"""The C programs: compiled, started and queried here. See the headers of the files in bench/c."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.system.provision import command

from bench.frames import Frame

_SOURCES = Path(__file__).parent / "c"
BUILT = Path("build/bench")
SEGMENT_BYTES = 134_217_728
_OVER_S = 60.0


def build() -> None:
    """Compiles the programs that are older than their source."""
    compiler = command("gcc")
    BUILT.mkdir(parents=True, exist_ok=True)
    newest_head = (_SOURCES / "wire.h").stat().st_mtime
    for source in sorted(_SOURCES.glob("*.c")):
        program = BUILT / source.stem
        if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime, newest_head):
            continue
        subprocess.run([compiler, "-O2", "-Wall", "-msse4.2", "-o", str(program), str(source)], check=True)


@dataclass(frozen=True)
class LoadResult:
    """The results of the load generator."""

    answers: int
    seconds: float
    request_bytes: int
    response_bytes: int
    errors: int
    first_error: int
    client_cpu_seconds: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class ConnectionsResult:
    """Connections that got a response, that were closed after the frame without one, and that failed before."""

    answers: int
    closed: int
    failed: int
    seconds: float
    response_bytes: int


class Load:
    """A frame and how it is sent. Every run uses its own producer ids. `in_flight`: how many times each connection
    sends it at a time; only a frame without a batch can be sent more than once."""

    _next_producer = 1_000_000

    def __init__(self, name: str, frame: Frame, connections: int, in_flight: int = 1) -> None:
        self.name = name
        self._in_flight = in_flight
        self.frame = frame
        self.connections = connections
        self._file = BUILT / f"{name}.frame"
        self._file.write_bytes(frame.data * in_flight)

    def start(self, port: int, seconds: float) -> subprocess.Popen[str]:
        """Starts to send; `finish` returns the result."""
        first, Load._next_producer = Load._next_producer, Load._next_producer + self.connections
        frame = self.frame
        numbers = (frame.batch_at, frame.records, first, frame.error_at, self._in_flight)
        return subprocess.Popen(
            [str(BUILT / "load"), str(port), str(self.connections), str(seconds), str(self._file), *map(str, numbers)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> LoadResult:
        """Waits for its end. RuntimeError if a response was an error."""
        out, _ = process.communicate(timeout=_OVER_S)
        if process.returncode:
            raise RuntimeError(f"load {self.name} ended with {process.returncode}")
        result = LoadResult(**json.loads(out))
        if result.errors:
            raise RuntimeError(
                f"load {self.name}: {result.errors} answers with an error, the first {result.first_error}"
            )
        if not result.answers:
            raise RuntimeError(f"load {self.name} got no answer")
        return result

    def run(self, port: int, seconds: float) -> LoadResult:
        return self.finish(self.start(port, seconds))


class NewConnections:
    """A frame that is sent once on each new connection; the response ends the connection, and the next one follows."""

    def __init__(self, name: str, frame: Frame, connections: int) -> None:
        """`connections`: how many are open at a time."""
        self._name = name
        self._connections = connections
        self._file = BUILT / f"{name}.frame"
        self._file.write_bytes(frame.data)

    def start(self, port: int, seconds: float) -> subprocess.Popen[str]:
        """Starts to connect; `finish` returns the result."""
        command = [str(BUILT / "reconnect"), str(port), str(seconds), str(self._connections), str(self._file)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> ConnectionsResult:
        """Waits for its end."""
        out, _ = process.communicate(timeout=_OVER_S)
        if process.returncode:
            raise RuntimeError(f"load {self._name} ended with {process.returncode}")
        return ConnectionsResult(**json.loads(out))

    def run(self, port: int, seconds: float) -> ConnectionsResult:
        """RuntimeError if a connection was closed without a response, failed, or there was none."""
        result = self.finish(self.start(port, seconds))
        if result.closed or result.failed or not result.answers:
            raise RuntimeError(f"load {self._name}: {result}")
        return result


def probe(port: int, seconds: float, rate: float, frame: Frame) -> list[float]:
    """Round trips in microseconds, sorted, of a client that sends `rate` requests per second."""
    path = BUILT / "probe.frame"
    path.write_bytes(frame.data)
    done = subprocess.run(
        [str(BUILT / "probe"), str(port), str(seconds), str(rate), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_OVER_S,
    )
    return [float(line) for line in done.stdout.split()]


class Reference:
    """A reference broker process. `answer` is its response to ApiVersions, or the head of a fetch response."""

    def __init__(self, folder: Path, mode: str, answer: bytes, fetch_bytes: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        answer_file = folder / "answer"
        answer_file.write_bytes(answer)
        self._process = subprocess.Popen(
            [
                str(BUILT / "reference_broker"),
                "0",
                mode,
                str(folder),
                str(SEGMENT_BYTES),
                str(answer_file),
                str(fetch_bytes),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
