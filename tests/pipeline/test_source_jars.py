"""The options for Spark's own connector."""

from __future__ import annotations

import json
from pathlib import Path

from signalbox.pipeline.options import RunOptions
from signalbox.pipeline.source_jars import connector_options


def test_the_connector_reads_committed_records_from_the_begin_and_never_skips() -> None:
    asked = RunOptions(
        bootstrap_servers="b:1",
        warehouse=Path("w"),
        max_records_per_batch=7,
        client_options={"security.protocol": "SSL", "max.poll.records": "5"},
    )
    options = connector_options(asked, {"t:0": 3, "t:1": 0}, "reader")
    assert options["kafka.bootstrap.servers"] == "b:1"
    assert options["subscribe"] == "t"
    assert json.loads(options["startingOffsets"]) == {"t": {"0": 3, "1": 0}}
    assert options["failOnDataLoss"] == "true"
    assert options["kafka.isolation.level"] == "read_committed"
    assert options["maxOffsetsPerTrigger"] == "7"
    assert (options["kafka.security.protocol"], options["kafka.max.poll.records"]) == ("SSL", "5")
