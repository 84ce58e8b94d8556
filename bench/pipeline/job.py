"""`python -m bench.pipeline.job ours|bare|executors PROFILE MASTER BOOTSTRAP TOPIC COUNT FOLDER`: one run.

Prints `seconds` of the query, without the start of Spark, as a JSON line; `executors` runs on a standalone cluster with
two executors of one core and prints `beside_s`, the processor time of its master and worker, too. RuntimeError: the
table has not exactly COUNT rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.system.pipeline.spark_cluster import spark_cluster

from bench.pipeline import bare_job
from bench.pipeline.records import SCHEMA
from bench.processes import cpu_seconds
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.tables.run import run_tables

_TWO_EXECUTORS = {"spark.executor.cores": "1", "spark.cores.max": "2", "spark.executor.memory": "512m"}


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _ours(options: TablesOptions) -> tuple[float, int]:
    result = run_tables(options, say=_say)
    return result.seconds, result.table_rows


def _children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}


def run(what: str, options: TablesOptions) -> dict[str, float]:
    """The figures of one run."""
    if what == "bare":
        seconds, rows = bare_job.run(options, options.topic)
        return {"seconds": seconds, "rows": rows}
    if what == "ours":
        seconds, rows = _ours(options)
        return {"seconds": seconds, "rows": rows}
    before = _children()
    with spark_cluster(options.state_folder / "cluster") as address:
        nodes = _children() - before
        seconds, rows = _ours(_with_master(options, address))
        beside = sum(cpu_seconds(pid) for pid in nodes)
    return {"seconds": seconds, "rows": rows, "beside_s": beside}


def _with_master(options: TablesOptions, address: str) -> TablesOptions:
    fields = {name: getattr(options, name) for name in ("bootstrap_servers", "warehouse", "profile", "topic", "schema")}
    return TablesOptions(**fields, master=address, spark_options=_TWO_EXECUTORS)


def main(what: str, profile: str, master: str, bootstrap: str, topic: str, count: str, folder: str) -> None:
    """See the module."""
    options = TablesOptions(
        bootstrap_servers=bootstrap,
        warehouse=Path(folder),
        profile=profile,
        master=master,
        topic=topic,
        schema=SCHEMA,
    )
    figures = run(what, options)
    if figures["rows"] != int(count):
        raise RuntimeError(f"the table has {figures['rows']:,} rows of {int(count):,} records")
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
