"""The broker as a process: `python -m signalbox.wiring.serve server.properties`.

Reads and checks the configuration, starts the node, says so on standard output in one JSON line (`event: ready`,
with the real ports), serves until SIGTERM or SIGINT, then shuts down in a controlled way. A second signal ends it
at once. Exit codes: 0 stopped as asked, 1 failed, 2 refused its configuration.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
import sys
from itertools import pairwise
from pathlib import Path

from signalbox.common.properties_file import parse_properties
from signalbox.wiring.configuration import NodeConfig, read_node_config
from signalbox.wiring.log_format import start_logging
from signalbox.wiring.node import Node

log = logging.getLogger("signalbox")


def load_config(path: Path, overrides: list[str]) -> NodeConfig | None:
    """The checked configuration of a file with `key=value` overrides; faults are printed, None is given then."""
    try:
        properties = parse_properties(path.read_text(encoding="utf-8"), str(path))
        extra = parse_properties("\n".join(overrides), "--override")
    except (OSError, ValueError) as error:
        print(f"{path} cannot be read: {error}", file=sys.stderr)
        return None
    properties.values.update(extra.values)
    for key in extra.values:
        properties.lines.pop(key, None)
    config, faults = read_node_config(properties)
    for fault in faults:
        print(fault, file=sys.stderr)
    if config is None:
        plural = "s" if len(faults) != 1 else ""
        print(f"not started: {len(faults)} fault{plural} in the configuration", file=sys.stderr)
    return config


async def serve(config: NodeConfig) -> None:
    """Run the node until it is told to stop."""
    node = Node(config)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked_to_stop(number: int) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
        log.info("stopping: signal %s", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop, number)
    await node.start()
    # What start-up made lives as long as the process: no full collection needs to look at it again.
    gc.collect()
    gc.freeze()
    print(json.dumps({"event": "ready", **node.describe()}), flush=True)
    failure = asyncio.ensure_future(node.failed())
    waiting = asyncio.ensure_future(stop.wait())
    await asyncio.wait({failure, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if failure.done():
        log.error("the node cannot go on: %s", failure.result())
        await node.stop(controlled=False)
        raise SystemExit(1)
    failure.cancel()
    await node.stop(controlled=True)
    log.info("stopped")


def main(arguments: list[str]) -> int:
    """`arguments`: the properties file, then any number of `--override key=value`."""
    overrides = [text for flag, text in pairwise(arguments) if flag == "--override"]
    config = load_config(Path(arguments[0]), overrides)
    if config is None:
        return 2
    start_logging(str(config.node_id))
    for warning in config.warnings:
        log.warning("%s", warning)
    try:
        asyncio.run(serve(config))
    except (OSError, RuntimeError) as error:
        log.error("not started: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
