"""All programs, in the order of their rows."""

from __future__ import annotations

from tests.system.ecosystem import flink, loops, spark, streams
from tests.system.ecosystem.program import Program

PROGRAMS: tuple[Program, ...] = (
    streams.PROGRAM,
    *loops.PROGRAMS,
    spark.PROGRAM,
    *flink.PROGRAMS,
)
