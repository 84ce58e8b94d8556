"""Jars without Maven."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.spark.jars import JarManifest, jar_faults, read_manifest
from signalbox.pipeline.spark.jars_by_ivy import fetch_by_ivy


@pytest.mark.system
@pytest.mark.timeout(300)
def test_sparks_own_resolver_brings_the_pinned_files(tmp_path: Path) -> None:
    manifest = read_manifest()
    small = JarManifest(manifest.pyspark_version, tuple(jar for jar in manifest.jars if "commons" in jar.group))
    fetch_by_ivy(small, tmp_path)
    assert jar_faults(tmp_path, small) == []
    assert [path.name for path in tmp_path.iterdir()] == [small.jars[0].file_name]
