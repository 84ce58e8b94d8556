"""SPARK_HOME of local sessions, with which workers import the installed pyspark; our zip for a cluster's workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.spark.worker_modules import make_spark_home, spark_home, write_package_zip

INSTALLED = Path(pyspark.__file__).parent


@pytest.mark.spec("P1")
def test_it_links_to_the_installed_pyspark_without_the_zip_of_its_modules(tmp_path: Path) -> None:
    home = make_spark_home(tmp_path / "cache")
    assert home == spark_home(tmp_path / "cache")
    assert (home / "bin" / "spark-submit").samefile(INSTALLED / "bin" / "spark-submit")
    assert (home / "jars").samefile(INSTALLED / "jars")
    assert not (home / "python").exists()
    assert make_spark_home(tmp_path / "cache") == home, "made once"
    assert [each.name for each in home.parent.iterdir()] == [home.name]


def test_another_process_that_was_first_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_spark_home(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", lambda path: False)
        assert make_spark_home(tmp_path) == home
    assert [each.name for each in tmp_path.iterdir()] == [home.name]


@pytest.mark.system
def test_workers_import_the_installed_pyspark(spark: SparkSession) -> None:
    def place(_: int) -> str:
        import pyspark.worker

        return str(pyspark.worker.__file__)

    assert spark.sparkContext.parallelize([0], 1).map(place).collect() == [str(INSTALLED / "worker.py")]


def test_the_zip_alone_is_enough_to_import_the_data_source(tmp_path: Path) -> None:
    archive = write_package_zip(tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import signalbox.pipeline.source_python as s; print(s.__file__)"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"{archive}/signalbox/pipeline/source_python.py"


def test_the_same_sources_are_the_same_file(tmp_path: Path) -> None:
    assert write_package_zip(tmp_path) == write_package_zip(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
