"""All programs, in the order of their rows."""

from __future__ import annotations

from tests.system.ecosystem import connect, flink, loops, spark, streams
from tests.system.ecosystem.program import Program

PROGRAMS: tuple[Program, ...] = (
    streams.PROGRAM,
    *loops.PROGRAMS,
    connect.PROGRAM,
    spark.PROGRAM,
    *flink.PROGRAMS,
)
