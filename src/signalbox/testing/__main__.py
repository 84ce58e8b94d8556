"""The test kit as a process, for clients in any language: `python -m signalbox.testing cluster` and `... drill`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TextIO

from signalbox.testing.control.fault_control import FAILURES, words_of
from signalbox.testing.drill.command_client import CommandClient
from signalbox.testing.drill.drill import run_drill
from signalbox.testing.drill.drill_client import SignalboxProducer, StartClient
from signalbox.testing.drill.report import json_report, text_report
from signalbox.testing.drill.stories import STORIES
from signalbox.testing.faults.applied_faults import AppliedFaults
from signalbox.testing.faults.fault_text import FAULTS, parse_fault, text_of
from signalbox.testing.kafka_cluster.cluster_options import MECHANISMS, SECURITY_PROTOCOLS, ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def main(arguments: Sequence[str] | None = None, commands: TextIO | None = None) -> int:
    """The exit code; `commands` are read in place of standard input."""
    logging.disable(logging.WARNING)  # faults are there on purpose: the brokers report each of them
    options = _parser().parse_args(arguments)
    if options.command == "drill":
        return _drill(options)
    return _cluster(options, commands if commands is not None else sys.stdin)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m signalbox.testing", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cluster = commands.add_parser(
        "cluster",
        help="start a cluster; its addresses are one line of JSON, faults are read from standard input",
        epilog=f"Lines of standard input: `<fault> <field>=<value> ...`, `heal`, `stop`. Faults: {', '.join(FAULTS)}.",
    )
    cluster.add_argument("--brokers", type=int, default=3)
    cluster.add_argument("--security", choices=SECURITY_PROTOCOLS, default="PLAINTEXT")
    cluster.add_argument("--mechanism", choices=MECHANISMS, default="SCRAM-SHA-512")
    cluster.add_argument("--topic", action="append", default=[], help="name=partitions; can be repeated")
    cluster.add_argument(
        "--listener", action="append", default=[], help="name=protocol of one more listener of clients; can be repeated"
    )
    cluster.add_argument("--processes", action="store_true", help="each broker is a process")
    drill = commands.add_parser("drill", help="run the twelve stories against a client; exit code 1 if it fails one")
    drill.add_argument("--story", type=int, action="append", help="only this one; can be repeated")
    drill.add_argument("--window", type=float, default=3.0, help="seconds for which the routes are wrong")
    drill.add_argument("--recovery", type=float, default=30.0, help="seconds in which the client has to go on")
    drill.add_argument("--json", action="store_true", help="print the report as JSON")
    drill.add_argument("client", nargs="*", help="the client's command, after `--`; Signalbox's own client without one")
    return parser


def _cluster(options: argparse.Namespace, commands: TextIO) -> int:
    pairs = [text.partition("=") for text in options.topic]
    try:
        wanted = ClusterOptions(
            brokers=options.brokers,
            security=options.security,
            mechanism=options.mechanism,
            topics={name: int(partitions or 1) for name, _, partitions in pairs},
            processes=options.processes,
            listeners={name: protocol for name, _, protocol in (text.partition("=") for text in options.listener)},
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with KafkaCluster(wanted) as cluster:
        config = cluster.client_config()
        more = {name: cluster.client_config(listener=name).properties() for name in wanted.listeners}
        answer: dict[str, object] = {"bootstrap.servers": config.bootstrap_servers, "properties": config.properties()}
        _say(answer | ({"listeners": more} if more else {}))
        applied: list[AppliedFaults] = []
        for line in commands:
            if line.strip() == "stop":
                break
            if line.strip():
                _say(_executed(cluster, line.strip(), applied))
    return 0


def _executed(cluster: KafkaCluster, line: str, applied: list[AppliedFaults]) -> dict[str, object]:
    """Applies the fault of a line, or takes all back; the answer that is printed."""
    try:
        if line == "heal":
            cluster.heal()
            applied.clear()
            return {"healed": True}
        fault = parse_fault(line)
        applied.append(cluster.faults(fault))
    except FAILURES as error:
        return {"error": words_of(error)}
    return {"applied": text_of(fault)}


def _drill(options: argparse.Namespace) -> int:
    numbers = options.story or [story.number for story in STORIES]
    stories = [story for story in STORIES if story.number in numbers]
    if not stories:
        print(f"there is no story {numbers}; there are 1 to {len(STORIES)}", file=sys.stderr)
        return 2
    start: StartClient = partial(CommandClient, options.client) if options.client else SignalboxProducer
    results = run_drill(start, stories, window_s=options.window, recovery_s=options.recovery)
    report: Callable[..., str] = json_report if options.json else text_report
    print(report(results))
    return 0 if all(result.passed for result in results) else 1


def _say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
