"""Facts and figures of a demo that was not run, for tests of its report; names and values as long as they get."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

from rich.console import Console

from signalbox.cli.demo.stage import Check, Stage

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
TOTALS = {"forwarded": 123_456, "rejected": 2, "misrouted": 3}
_LISTS: dict[str, list[dict[str, Any]]] = {
    "requests": [
        {
            "broker_id": 2147483647,
            "listener": "REPLICATION",
            "client_id": "a-client-with-a-very-long-name-0123456789-0123456789-0123456789",
            "principal": "User:CN=broker-1.kafka.example.org,OU=platform,O=Example,C=NO",
            "api": "INIT_PRODUCER_ID",
            "requests": 1_234_567,
            "errors": 0,
        }
    ],
    "forwarded": [{"broker_id": 1, "api": "ALTER_PARTITION", "client_id": "demo-admin", "p50_us": 1.5, "p99_us": 4e6}],
    "rejected": [
        {"broker_id": 1, "plane": "control", "api": "METADATA", "reason": "API not on this plane", "requests": 1}
    ],
    "misrouted": [],
}
_SEQUENCE = {"broker_id": 2, "broker_epoch": 1234, "gaps": [[3, 4], [8, 8]], "whole": False, "duplicates": 0}


def stage_of(folder: Path, **facts: Any) -> Stage:
    """The state at the end of a demo, without a cluster."""
    stage = Stage(Console(file=io.StringIO()), folder, None, None)  # type: ignore[arg-type]
    stage.facts = FACTS | facts
    stage.checks = [Check("first step", "claim & more", "<seen>"), Check("first step", "another claim", "1,000")]
    stage.seconds = {"first step": 1.25}
    return stage


def figures_of(**lists: Any) -> dict[str, Any]:
    """The figures of the audit trail; `lists` replaces some of them."""
    completeness = {
        "table_rows": 7,
        "missing_events": 3,
        "brokers": [_SEQUENCE, {**_SEQUENCE, "gaps": [], "whole": True}],
    }
    return {**_LISTS, "totals": TOTALS, "completeness": completeness, **lists}
