"""Facts and figures of a demo that was not run, for tests of its report; names and values as long as they get."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

from rich.console import Console

from signalbox.cli.demo.stage import Check, Stage
from tests.pipeline.report.sample import figures, forward, rejection

FACTS: dict[str, Any] = {
    "control_latency_ms": {
        "idle": [2.0 + number / 800 for number in range(600)],
        "while producing": [2.2 + math.exp(number / 160) / 2 for number in range(800)],
    },
    "carriers": [("UA", 58_665), ("B6", 54_635), ("OO", 32)],
    "produce": {"records": 336_776, "bytes": 98_765_432, "seconds": 3.5},
    "misroute": {
        "rejected": 12.0,
        "rebootstraps": 1,
        "records": 3000,
        "swapped_s": 4.2,
        "addresses": {"broker-1": "127.100.100.101:65535", "broker-2": "127.100.100.102:65534"},
    },
    "failover": {
        "killed": 2,
        "successor": 1,
        "gap_s": 0.85,
        "records": 6000,
        "killed_s": 2.01,
        "acknowledged_s": [at / 1000 for at in range(8000) if not 2050 < at < 2900],
    },
    "profile": "delta",
}
_LONG = {
    "broker_id": 2147483647,
    "listener": "REPLICATION",
    "client_id": "a-client-with-a-very-long-name-0123456789-0123456789-0123456789",
    "principal": "User:CN=broker-1.kafka.example.org,OU=platform,O=Example,C=NO",
    "api": "INIT_PRODUCER_ID",
    "requests": 1_234_567,
}


def stage_of(folder: Path, **facts: Any) -> Stage:
    """The state at the end of a demo, without a cluster."""
    stage = Stage(Console(file=io.StringIO()), folder, None, None)  # type: ignore[arg-type]
    stage.facts = FACTS | facts
    stage.checks = [Check("first step", "claim & more", "<seen>"), Check("first step", "another claim", "1,000")]
    stage.seconds = {"first step": 1.25}
    return stage


def figures_of(**lists: Any) -> dict[str, Any]:
    """The figures of the audit trail; `lists` replaces some of them."""
    known = figures(forwarded=[{**forward(), **_LONG}], rejected=[rejection("control")])
    return {**known, "requests": [{**known["requests"][0], **_LONG}], **lists}
