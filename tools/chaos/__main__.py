"""`python -m tools.chaos [--duration 120] [--seed n] [--store sqlite] [--bank] [--save] [--folder DIR]`.

Exit code 0: no record was lost, duplicated or reordered and the run covered all required faults; 1: violations, in
words.
"""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
from pathlib import Path

from bench.measured.recording import save
from bench.measured.run_file import HISTORY

from tools.chaos.report import Report
from tools.chaos.run import Options, Run
from tools.chaos.saved_run import run_rows, target
from tools.chaos.stores import STORES


def main(arguments: list[str]) -> int:
    """Runs, prints and writes the report file."""
    parser = argparse.ArgumentParser(prog="tools.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=120.0, help="seconds of load and faults, at least")
    parser.add_argument("--seed", type=int, default=None, help="which faults in which order; drawn if not given")
    parser.add_argument("--store", choices=sorted(STORES), default="sqlite", help="where metadata lives")
    parser.add_argument("--bank", action="store_true", help="also transfers between accounts in transactions")
    parser.add_argument("--folder", type=Path, default=Path("build/chaos"), help="emptied first, kept afterwards")
    parser.add_argument("--report", type=Path, default=Path("build/chaos.json"))
    parser.add_argument("--noise", action="store_true", help="also show which log lines were the most frequent")
    parser.add_argument("--save", action="store_true", help=f"add the run to {HISTORY}")
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # exits after stopping the brokers, which would otherwise outlive this process
    _say(f"seed {seed}, {given.duration:.0f} s, metadata in {given.store}; brokers and logs in {given.folder}")
    report = Run(Options(seed, given.duration, given.folder, given.store, given.bank), _say).run()
    given.report.parent.mkdir(parents=True, exist_ok=True)
    given.report.write_text(json.dumps(report.as_json(), indent=2) + "\n")
    _show(report, given.noise)
    if given.save:
        _say(f"saved as {save(target(given.store, with_bank=given.bank), run_rows(report))}")
    return 1 if report.violations else 0


def _show(report: Report, noise: bool) -> None:
    if noise:
        for node_id, rows in report.noise.items():
            for text, count in rows:
                _say(f"  broker {node_id} wrote {count:5} x {text}")
    for line in report.lines():
        _say(line)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
