"""A driver that spark-submit started: its JVM runs before this process does, so master, memory and jars are
spark-submit's, and the same options of a command would have no effect.

spark-submit passes the port of its JVM in the environment; the settings of that JVM are the defaults of `SparkConf`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkConf, SparkContext

AT_START = ("spark.driver.", "spark.jars", "spark.master", "spark.submit.")
"""Prefixes of settings that a JVM, or spark-submit before it, takes at its start only."""
_LISTS_OF_JARS = ("spark.jars", "spark.repl.local.jars")


@dataclass(frozen=True, slots=True)
class SubmittedDriver:
    """The settings of spark-submit's JVM."""

    settings: Mapping[str, str]

    @property
    def master(self) -> str:
        return self.settings.get("spark.master", "local[*]")

    def faults(self, jars: tuple[Path, ...], of_command: Mapping[str, bool]) -> list[str]:
        """What spark-submit must be called with. `of_command`: options of the command, and whether each was set."""
        faults = [
            f"{name} has no effect under spark-submit: give it to spark-submit"
            for name in of_command
            if of_command[name]
        ]
        given = {entry.rpartition("/")[2] for key in _LISTS_OF_JARS for entry in self.settings.get(key, "").split(",")}
        if not {jar.name for jar in jars} <= given:
            faults.append(
                "spark-submit was started without the jars of profile jars: add --jars "
                '"$(signalbox pipeline jars --list)", or use --profile pypi'
            )
        return faults


def submitted_driver() -> SubmittedDriver | None:
    """None unless spark-submit started this process; connects to its JVM."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return SubmittedDriver(dict(SparkConf().getAll()))
