"""The choice of the profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.options import Commit, OptionError, Profile
from signalbox.pipeline.profile import choose_commit, choose_profile
from signalbox.pipeline.spark.jars import JarError
from tests.system.provision import command


def quiet(_: str) -> None:
    """Discards the progress lines."""


def without_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine whose only `mvn` fails, as one without access to a registry."""
    mvn = tmp_path / "bin" / "mvn"
    mvn.parent.mkdir()
    mvn.write_text("#!/bin/sh\necho '[ERROR] no way to the registry'\nexit 1\n")
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", str(mvn.parent))
    return tmp_path / "jars"


def test_auto_falls_back_to_pypi_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jars = without_network(monkeypatch, tmp_path)
    choice = choose_profile("auto", jars_directory=jars, say=quiet)
    assert choice.profile == Profile.PYPI
    assert "no way to the registry" in choice.reason


def test_requested_jars_that_cannot_be_fetched_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jars = without_network(monkeypatch, tmp_path)
    with pytest.raises(JarError, match="no way to the registry"):
        choose_profile("jars", jars_directory=jars, say=quiet)
    with pytest.raises(JarError):
        choose_profile("auto", jars_directory=jars, begun_with=Profile.JARS, say=quiet)


def test_a_table_goes_on_as_it_was_begun() -> None:
    assert choose_profile("auto", begun_with=Profile.PYPI, say=quiet).profile == Profile.PYPI
    with pytest.raises(OptionError, match="begun with profile pypi"):
        choose_profile("jars", begun_with=Profile.PYPI, say=quiet)


def test_committer_follows_the_profile() -> None:
    assert choose_commit("auto", Profile.JARS) == Commit.SPARK
    assert choose_commit("rs", Profile.JARS) == Commit.RS
    assert choose_commit("auto", Profile.PYPI) == Commit.RS
    with pytest.raises(OptionError, match="needs Delta's jar"):
        choose_commit("spark", Profile.PYPI)
    with pytest.raises(OptionError, match="none of auto, spark, rs"):
        choose_commit("iceberg", Profile.JARS)


@pytest.mark.system
def test_maven_is_not_run_when_the_jars_exist() -> None:
    command("mvn")
    choice = choose_profile("jars", say=quiet)
    again = choose_profile("auto", say=quiet)
    assert (again.jars, again.reason) == (choice.jars, "the pinned jars are here")
