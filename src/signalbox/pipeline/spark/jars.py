"""The jars of profile `jars`: pinned by coordinates and hash, fetched once, verified at every start.

Maven fetches them (`dependency:copy-dependencies` on a generated pom that excludes everything transitive); without
Maven the Ivy inside the pyspark wheel does, one `ADD JAR ivy://…?transitive=false` each. Either way a file that does
not have its pinned hash is rejected. No registry address is set here: Maven and Ivy have their own.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from signalbox.pipeline.spark.java import cache_directory

FETCH_TIMEOUT_SECONDS = 600

_IVY_SCRIPT = """
import sys
from pathlib import Path
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
ivy, *jars = sys.argv[1:]
spark = build_session(SessionSettings(
    app_name="signalbox-fetch-jars", master="local[1]", scratch_directory=Path(ivy) / "scratch",
    extra={"spark.jars.ivy": ivy},
))
for coordinates in jars:
    spark.sql(f"ADD JAR 'ivy://{coordinates}?transitive=false'")
end_session(spark)
"""


class JarError(RuntimeError):
    """The jars cannot be fetched, or are not the pinned ones."""


@dataclass(frozen=True, slots=True)
class PinnedJar:
    """One jar: Maven coordinates and the SHA-256 of the file."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


@dataclass(frozen=True, slots=True)
class JarManifest:
    """The pinned set and the pyspark version that it belongs to."""

    pyspark_version: str
    jars: tuple[PinnedJar, ...]


def read_manifest(text: str | None = None) -> JarManifest:
    """The manifest in `jars.toml`, or in `text`."""
    source = text if text is not None else resources.files(__package__).joinpath("jars.toml").read_text()
    content = tomllib.loads(source)
    return JarManifest(content["pyspark"], tuple(PinnedJar(**row) for row in content["jar"]))


def default_jars_directory(manifest: JarManifest | None = None) -> Path:
    """The default folder for fetched jars: one folder per pyspark version."""
    return cache_directory() / f"jars-{(manifest or read_manifest()).pyspark_version}"


def render_pom(manifest: JarManifest) -> str:
    """A pom that names exactly the pinned jars and nothing transitive."""
    rows = "".join(
        f"  <dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version><exclusions><exclusion><groupId>*</groupId>"
        "<artifactId>*</artifactId></exclusion></exclusions></dependency>\n"
        for jar in manifest.jars
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n <modelVersion>4.0.0</modelVersion>\n'
        " <groupId>signalbox</groupId><artifactId>pipeline-jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging>\n <dependencies>\n{rows} </dependencies>\n</project>\n"
    )


def jar_faults(directory: Path, manifest: JarManifest) -> list[str]:
    """The differences between the jars in `directory` and the pinned ones; an empty list: all present and correct."""
    faults = []
    for jar in manifest.jars:
        path = directory / jar.file_name
        if not path.is_file():
            faults.append(f"{jar.file_name} is not there")
        elif (sha256 := hashlib.sha256(path.read_bytes()).hexdigest()) != jar.sha256:
            faults.append(f"{jar.file_name} has sha256 {sha256}, pinned is {jar.sha256}")
    return faults


def pinned_jars(directory: Path | None = None) -> tuple[Path, ...]:
    """The paths at which the pinned jars are, or would be."""
    manifest = read_manifest()
    folder = directory or default_jars_directory(manifest)
    return tuple(folder / jar.file_name for jar in manifest.jars)


def verified_jars(directory: Path | None = None) -> tuple[Path, ...] | None:
    """The paths of the pinned jars if all are present with their hashes, else None."""
    manifest = read_manifest()
    folder = directory or default_jars_directory(manifest)
    return None if jar_faults(folder, manifest) else pinned_jars(folder)


def fetch_by_maven(manifest: JarManifest, directory: Path) -> None:
    """Copies the jars to `directory` with `mvn`. Raises JarError with Maven's output if it fails."""
    pom = directory / "pom.xml"
    pom.write_text(render_pom(manifest))
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise JarError(f"Maven did not fetch the jars within {FETCH_TIMEOUT_SECONDS} s") from error
    if answer.returncode != 0:
        errors = [line for line in (answer.stdout + answer.stderr).splitlines() if "ERROR" in line]
        raise JarError("Maven could not fetch the jars: " + (errors[0] if errors else f"exit {answer.returncode}"))


def ivy_file_name(jar: PinnedJar) -> str:
    """The name that Ivy gives to the file of a jar."""
    return f"{jar.group}_{jar.file_name}"


def fetch_by_ivy(manifest: JarManifest, directory: Path) -> None:
    """Writes the jars into `directory`. Raises JarError with the resolver's output if it fails.

    `spark.jars.packages` would resolve transitively and so require the version of the token provider that a registry
    may not have; `transitive=false` takes each jar alone. The session runs in a process of its own so that the
    caller's Java is not started with the wrong settings.
    """
    ivy = directory / "ivy"
    command = [sys.executable, "-c", _IVY_SCRIPT, str(ivy), *(jar.coordinates for jar in manifest.jars)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_SECONDS, check=False)
    if answer.returncode != 0:
        raise JarError("Spark's resolver could not fetch the jars: " + answer.stderr.strip()[-500:])
    for jar in manifest.jars:
        shutil.move(ivy / "jars" / ivy_file_name(jar), directory / jar.file_name)
    shutil.rmtree(ivy)


def fetch_jars(directory: Path | None = None, say: Callable[[str], None] = print) -> tuple[Path, ...]:
    """Makes sure that the pinned jars are in `directory` (default: the cache) and returns their paths.

    Raises JarError when they cannot be fetched, read or written, or do not have their pinned hashes.
    """
    manifest = read_manifest()
    folder = directory or default_jars_directory(manifest)
    try:
        return _fetched_jars(manifest, folder, say)
    except OSError as error:
        raise JarError(
            f"the jars cannot be kept in {folder}: {error.strerror} ({error.filename}); choose another directory with "
            "--directory"
        ) from error


def _fetched_jars(manifest: JarManifest, folder: Path, say: Callable[[str], None]) -> tuple[Path, ...]:
    if not jar_faults(folder, manifest):
        say(f"jars: {len(manifest.jars)} files with their pinned hashes in {folder}")
        return tuple(folder / jar.file_name for jar in manifest.jars)
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("mvn"):
        say(f"jars: fetching {len(manifest.jars)} files with Maven")
        fetch_by_maven(manifest, folder)
    else:
        say(f"jars: no mvn here, fetching {len(manifest.jars)} files with Spark's own resolver")
        fetch_by_ivy(manifest, folder)
    faults = jar_faults(folder, manifest)
    if faults:
        raise JarError("the fetched jars are not the pinned ones: " + "; ".join(faults))
    size = sum((folder / jar.file_name).stat().st_size for jar in manifest.jars)
    say(f"jars: {len(manifest.jars)} files, {size / 1e6:.0f} MB, hashes verified, in {folder}")
    return tuple(folder / jar.file_name for jar in manifest.jars)
