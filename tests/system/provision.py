"""Third-party clients and tools, fetched by the test run itself in pinned versions, kept under `build/`.

From Debian only packages that are missing on the machine; from npm, Maven, Go's module proxy and for Python the
contents of `node/package-lock.json`, `java/*/pom.xml`, `go/**/go.sum` and `python/*.txt`. A second run finds everything
there: the folder's name depends on the files that pin its contents.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from signalbox.testing.zookeeper import JAR, QUICK_JAVA

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "system"

# The Debian packages that provide a missing command.
_PACKAGES = {
    "kcat": ("kcat",),
    "node": ("nodejs",),
    "npm": ("nodejs", "npm"),
    "mvn": ("maven",),
    "java": ("default-jre-headless",),
    "javac": ("default-jdk-headless",),
    "keytool": ("default-jre-headless",),
    "openssl": ("openssl",),
    "gcc": ("gcc", "libc6-dev"),
    "systemd-analyze": ("systemd",),
}
_FETCH_TIMEOUT_S = 900


@cache
def command(name: str) -> str:
    """The path of a program of `_PACKAGES`; installed first if it is missing."""
    with _locked():
        found = shutil.which(name)
        if found is None:
            _install(_PACKAGES[name])
            found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is not there although {_PACKAGES[name]} are installed")
    return found


def java(*options: str, heap: str = "256m") -> list[str]:
    """The begin of a command that runs a Java program for a short time, with these options of the JVM."""
    return [command("java"), f"-Xmx{heap}", *QUICK_JAVA, *options]


@cache
def zookeeper() -> None:
    """Debian's ZooKeeper and a Java to run it, installed if they are missing."""
    command("java")
    with _locked():
        if not JAR.exists():
            _install(("zookeeper",))


@cache
def jars(project: str) -> str:
    """The class path of `java/<project>/pom.xml`, resolved from Maven Central."""
    pom = HERE / "java" / project / "pom.xml"
    maven = command("mvn")
    with _folder(f"java-{project}", pom) as (folder, fresh):
        if fresh:
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
            _run([maven, "-q", "-B", "-f", str(pom), *goal])
    return f"{folder}/*"


@cache
def java_class(file: str, project: str) -> str:
    """The class path with `java/<file>`, compiled against a project's jars."""
    source = HERE / "java" / file
    compiler, class_path = command("javac"), jars(project)
    with _folder(f"class-{source.stem}", source) as (folder, fresh):
        if fresh:
            _run([compiler, "-cp", class_path, "-d", str(folder), str(source)])
    return f"{folder}{os.pathsep}{class_path}"


@cache
def node_modules() -> Path:
    """The folder `node_modules` for `node/package-lock.json`."""
    lock = HERE / "node" / "package-lock.json"
    npm = command("npm")
    with _folder("node", lock) as (folder, fresh):
        if fresh:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(lock.with_name(name), folder)
            _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)])
    return folder / "node_modules"


@cache
def go_program(name: str, source: Path | None = None) -> str | None:
    """The path of `go/<name>/main.go` (or of another source with the same modules), compiled; None without Go: Debian's
    is too old for today's clients."""
    compiler = shutil.which("go")
    if compiler is None:
        return None
    modules = HERE / "go"
    file = source or modules / name / "main.go"
    with _folder(f"go-{name}", file, modules / "go.sum") as (folder, fresh):
        if fresh:
            _run([compiler, "build", "-C", str(modules), "-p", "2", "-o", str(folder / name), str(file)])
    return str(folder / name)


@cache
def go_tool(name: str, package: str) -> str | None:
    """The path of a program of another project, compiled as `go/<name>/go.mod` pins it; None without Go."""
    compiler = shutil.which("go")
    if compiler is None:
        return None
    module = HERE / "go" / name
    with _folder(f"go-tool-{name}", module / "go.mod", module / "go.sum") as (folder, fresh):
        if fresh:
            _run([compiler, "build", "-C", str(module), "-p", "2", "-o", str(folder / name), package])
    return str(folder / name)


@cache
def unpacked_program(package: str, path: str) -> str:
    """A program of a Debian package that is unpacked and not installed: the installation would start a service."""
    with _folder(f"debian-{package}") as (folder, fresh):
        if fresh:
            _apt_get("download", "-q", "-o", "APT::Sandbox::User=root", package, folder=folder)
            [file] = folder.glob("*.deb")
            _run(["dpkg", "-x", str(file), str(folder)])
    return str(folder / path)


@cache
def unpacked_with_libraries(package: str) -> Path:
    """The folder with a Debian package and all that it needs and this machine has not, unpacked and not installed: for
    programs that would bring a desktop along."""
    with _folder(f"debian-complete-{package}") as (folder, fresh):
        if fresh:
            plan = _apt_get("install", "--simulate", "--no-install-recommends", package)
            for name in [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]:
                _apt_get("download", "-q", "-o", "APT::Sandbox::User=root", name, folder=folder)
            for file in folder.glob("*.deb"):
                _run(["dpkg", "-x", str(file), str(folder)])
                file.unlink()
    return folder


@cache
def python_program(requirements: str, name: str) -> str:
    """The path of a program of `python/<requirements>.txt`, in an environment of its own."""
    pins = HERE / "python" / f"{requirements}.txt"
    with _folder(f"python-{requirements}", pins) as (folder, fresh):
        if fresh:
            _run([sys.executable, "-m", "venv", str(folder)])
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run([*pip, "--require-hashes", "-r", str(pins)])
    return str(folder / "bin" / name)


def _install(packages: tuple[str, ...]) -> None:
    _apt_get("install", "-y", "-q", "--no-install-recommends", *packages)


def _apt_get(*arguments: str, folder: Path = HERE) -> str:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S
    )
    if done.returncode == 0:
        return done.stdout
    _run(["apt-get", "update", "-q"])
    return _run(command, environment, folder)


@contextmanager
def _folder(name: str, *pinned_by: Path) -> Iterator[tuple[Path, bool]]:
    """A folder for the contents that `pinned_by` name, and whether it must be filled. A partial one is refilled."""
    pins = b"".join(file.read_bytes() for file in pinned_by)
    folder = BUILD / f"{name}-{hashlib.sha256(pins).hexdigest()[:12]}"
    complete = folder / ".complete"
    with _locked():
        fresh = not complete.exists()
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        yield folder, fresh
        complete.touch()


@contextmanager
def _locked() -> Iterator[None]:
    """One fetch at a time, also over several test runs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(arguments: list[str], environment: dict[str, str] | None = None, folder: Path = HERE) -> str:
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout
