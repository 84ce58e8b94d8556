"""The manifest, the pom, the hashes."""

from __future__ import annotations

import hashlib
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from signalbox.pipeline.spark.jars import (
    JarError,
    JarManifest,
    PinnedJar,
    fetch_by_ivy,
    fetch_jars,
    jar_faults,
    read_manifest,
    render_pom,
)

ROOT = Path(__file__).parents[3]


def test_manifest_pins_six_jars_for_the_pyspark_of_the_project() -> None:
    manifest = read_manifest()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert f"pyspark=={manifest.pyspark_version}" in project["project"]["optional-dependencies"]["pipeline"]
    assert len(manifest.jars) == 6
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in manifest.jars)


def test_no_address_is_in_the_manifest() -> None:
    assert "://" not in resources.files("signalbox.pipeline.spark").joinpath("jars.toml").read_text()


def test_the_pom_names_each_jar_without_dependencies() -> None:
    manifest = read_manifest()
    pom = render_pom(manifest)
    assert pom.count("<dependency>") == pom.count("<exclusion>") == len(manifest.jars)
    for jar in manifest.jars:
        assert f"<artifactId>{jar.artifact}</artifactId><version>{jar.version}</version>" in pom


def test_missing_and_changed_files_are_faults(tmp_path: Path) -> None:
    right = PinnedJar("g", "right", "1", hashlib.sha256(b"right").hexdigest())
    wrong = PinnedJar("g", "wrong", "1", "0" * 64)
    gone = PinnedJar("g", "gone", "1", "0" * 64)
    (tmp_path / right.file_name).write_bytes(b"right")
    (tmp_path / wrong.file_name).write_bytes(b"changed")
    faults = jar_faults(tmp_path, JarManifest("4.2.0", (right, wrong, gone)))
    found = hashlib.sha256(b"changed").hexdigest()
    assert faults == [
        f"wrong-1.jar has sha256 {found}, pinned is {'0' * 64}",
        "gone-1.jar is not there",
    ]


@pytest.mark.system
@pytest.mark.timeout(300)
def test_maven_fetches_them_and_a_changed_file_is_fetched_again(tmp_path: Path) -> None:
    lines: list[str] = []
    paths = fetch_jars(tmp_path, lines.append)
    assert [path.exists() for path in paths] == [True] * 6
    paths[0].write_bytes(b"not a jar")
    paths[0].unlink()
    assert fetch_jars(tmp_path, lines.append) == paths
    assert jar_faults(tmp_path, read_manifest()) == []
    fetch_jars(tmp_path, lines.append)
    assert lines[-1] == f"jars: 6 files with their pinned hashes in {tmp_path}"


def test_a_directory_that_cannot_be_made_is_named_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JarError, match=r"kept in .*/file/x: Not a directory .* choose another directory with --direc"):
        fetch_jars(tmp_path / "file" / "x")


@pytest.mark.system
@pytest.mark.timeout(300)
def test_sparks_own_resolver_brings_the_pinned_files(tmp_path: Path) -> None:
    manifest = read_manifest()
    small = JarManifest(manifest.pyspark_version, tuple(jar for jar in manifest.jars if "commons" in jar.group))
    fetch_by_ivy(small, tmp_path)
    assert jar_faults(tmp_path, small) == []
    assert [path.name for path in tmp_path.iterdir()] == [small.jars[0].file_name]
