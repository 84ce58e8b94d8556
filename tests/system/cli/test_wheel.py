"""The wheel that pip builds has the product without the tools that test it, and the fixtures of the test kit."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_SUITE = """
from pathlib import Path

import signalbox
from signalbox.client import SyncClient
from signalbox.testing.faults import CutAfterRequest


def test_it(kafka_cluster, kafka_topic):
    assert Path(signalbox.__file__).is_relative_to({environment!r})
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        with kafka_cluster.faults(CutAfterRequest(api="Produce")):
            producer.send(kafka_topic, b"once", partition=0).result(60)
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"once"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder))
    subprocess.run([*pip, str(ROOT)], check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


def test_a_built_wheel_has_the_product_alone(wheel: Path) -> None:
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in folders if not name.endswith(".dist-info")} == {"signalbox"}


@pytest.mark.spec("R7")
def test_the_fixtures_work_where_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    install = ("install", "--quiet", "--no-index", "--no-deps", str(wheel))
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True, capture_output=True)
    # The packages that it needs are those of this environment; its own packages come first.
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "test_it.py").write_text(_SUITE.format(environment=str(environment)))
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-q", "--kafka-brokers=1", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=110)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
