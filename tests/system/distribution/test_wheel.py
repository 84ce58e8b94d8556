"""The wheel: README's *Install* as it stands there, then brokers, client, doctor and fixtures from its environment."""

from __future__ import annotations

import platform
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.system.distribution.checks import (
    check_brokers_clients_doctor,
    check_fixtures,
    check_store_on_zookeeper,
    readme_blocks,
    source_version,
)
from tests.system.distribution.environment import ROOT, Environment, run
from tests.system.distribution.interpreters import SUPPORTED

pytestmark = pytest.mark.timeout(400)
INSTALL, WITH_EXTRAS = readme_blocks("Install")
EXTRAS = ("demo", "pipeline", "security", "zookeeper")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """README's first block was run, with another home; then pytest was installed."""
    home = tmp_path_factory.mktemp("home")
    printed = run(["bash", "-euo", "pipefail", "-c", INSTALL], ROOT, timeout_s=390, home=home)
    assert printed.endswith(f"signalbox {source_version()}\n")
    environment = Environment(home / "signalbox", home)
    environment.install("pytest")
    return environment


@pytest.fixture(scope="module")
def wheel(installed: Environment) -> zipfile.ZipFile:
    [file] = (ROOT / "dist").glob("*.whl")
    return zipfile.ZipFile(file)


def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_it_has_the_product_alone_and_all_of_it(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = [path for path in (ROOT / "src" / "signalbox").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert names == {str(path.relative_to(ROOT / "src")) for path in files}


def test_its_metadata(wheel: zipfile.ZipFile) -> None:
    fields = metadata(wheel)
    assert (fields["Name"], fields["Version"]) == ("signalbox-broker", source_version())
    assert (fields["License-Expression"], fields["License-File"]) == ("Apache-2.0", "LICENSE")
    assert fields["Requires-Python"] == f">={SUPPORTED[0]}"
    assert tuple(sorted(fields.get_all("Provides-Extra", []))) == EXTRAS
    classifiers = fields.get_all("Classifier", [])
    versions = [text.removeprefix("Programming Language :: Python :: ") for text in classifiers if "Language" in text]
    assert tuple(version for version in versions if "." in version) == SUPPORTED
    assert [value for _, value in fields.items() if "://" in value] == [], "there is no address yet"


def test_the_extras_of_readme_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    section = (ROOT / "README.md").read_text().partition("\n## Install\n")[2].partition("\n## ")[0]
    assert [f"| `{extra}` |" in section for extra in project["optional-dependencies"]] == [True] * len(EXTRAS)


def test_the_source_distribution_makes_the_same_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    [archive] = (ROOT / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    run([str(ROOT / "build" / "dist-tools" / "bin" / "hatchling"), "build", "-t", "wheel", "-d", "again"], source)
    [again] = (source / "again").glob("*.whl")
    assert again.read_bytes() == Path(str(wheel.filename)).read_bytes()


@pytest.mark.spec("R7")
def test_fixtures_without_an_extra(installed: Environment) -> None:
    check_fixtures(installed)


def test_brokers_clients_and_doctor(installed: Environment) -> None:
    check_brokers_clients_doctor(installed)


def test_the_extras_security_and_zookeeper(installed: Environment) -> None:
    run(["bash", "-euo", "pipefail", "-c", WITH_EXTRAS], ROOT, timeout_s=390, home=installed.home)
    check_fixtures(installed, security="SASL_SSL")
    check_store_on_zookeeper(installed)


def test_this_interpreter_is_one_of_the_supported() -> None:
    assert ".".join(platform.python_version_tuple()[:2]) in SUPPORTED
