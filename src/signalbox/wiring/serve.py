"""A node as a process, a broker or a dedicated controller: `python -m signalbox.wiring.serve server.properties`.

Reads and checks the configuration, starts the node, reports it on standard output in one JSON line (`event: ready`,
with the real ports), serves until SIGTERM or SIGINT, then shuts down in a controlled way. A second signal ends it at
once. Exit codes: 0 stopped by a signal, 1 failed, 2 configuration rejected. A fault that depends on the machine (a port
that is in use, a folder of another broker) is a failure: the same file may start elsewhere or later.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any, Literal

from signalbox.configuration.check.config_check import check_node_config
from signalbox.configuration.check.config_warnings import unknown_keys
from signalbox.configuration.config_file import ConfigFileError, read_config_file
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.security_config import ConfigRejected
from signalbox.metadata.store.port import StoreError
from signalbox.network.acceptors.descriptors import raise_limit
from signalbox.protocol.error_table import KafkaError
from signalbox.server.garbage import Garbage
from signalbox.server.log_format import start_logging
from signalbox.transport.node_event_loop import MeasuredLoop, NodeEventLoop
from signalbox.transport.time_slice import request_short_slices
from signalbox.wiring.broker_node import broker_node
from signalbox.wiring.controller_node import controller_node
from signalbox.wiring.node import Node

log = logging.getLogger("signalbox")


def load_config(path: Path, overrides: list[str]) -> NodeConfig | None:
    """Returns the checked configuration of a file with `key=value` overrides; None after printing its faults."""
    try:
        properties = read_config_file(path, overrides)
    except ConfigFileError as error:
        print(error, file=sys.stderr)
        return None
    config, faults = check_node_config(properties)
    for warning in unknown_keys(properties, NODE_CONFIG) if config is None else ():
        print(f"warning: {warning}", file=sys.stderr)
    for fault in faults:
        print(fault, file=sys.stderr)
    if config is None:
        plural = "s" if len(faults) != 1 else ""
        print(f"not started: {len(faults)} fault{plural} in the configuration", file=sys.stderr)
    return config


async def serve(config: NodeConfig) -> None:
    """Run the node until it is stopped."""
    node: Node[Any] = broker_node(config) if config.runs_broker else controller_node(config)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked_to_stop(number: int) -> None:
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(signal_number)
        log.info("stopping: signal %s", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop, number)
    waiting = asyncio.ensure_future(stop.wait())
    if not await _started(node, waiting):
        log.info("stopped before it was ready")
        return
    garbage = Garbage(node.work_done)
    garbage.start()
    node.components.cache.subscribe(garbage.image_replaced)
    print(json.dumps({"event": "ready", **node.describe()}), flush=True)
    failure = asyncio.ensure_future(node.failed())
    await asyncio.wait({failure, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    garbage.stop()
    if failure.done():
        log.error("Node cannot continue and stops: %s", failure.result())
        await node.stop(controlled=False)
        raise SystemExit(1)
    failure.cancel()
    await node.stop(controlled=True)
    log.info("stopped")


async def _started(node: Node[Any], waiting: asyncio.Future[Literal[True]]) -> bool:
    """Start the node; False if it was stopped meanwhile. A start that fails is cleaned up."""
    starting = asyncio.ensure_future(node.start())
    either: set[asyncio.Future[Any]] = {starting, waiting}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if starting.done() and starting.exception() is None:
        return True
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await node.stop(controlled=False)
    if not starting.cancelled():
        starting.result()
    waiting.cancel()
    return False


def main(arguments: list[str]) -> int:
    """`arguments`: the properties file, then any number of `--override key=value`."""
    flags = arguments[1::2]
    if not arguments or len(arguments) % 2 == 0 or any(flag != "--override" for flag in flags):
        print("usage: serve server.properties [--override key=value]...", file=sys.stderr)
        return 2
    overrides = arguments[2::2]
    config = load_config(Path(arguments[0]), overrides)
    if config is None:
        return 2
    try:
        start_logging(str(config.node_id))
    except ValueError as error:
        print(f"not started: {error}", file=sys.stderr)
        return 2
    for warning in config.warnings:
        log.warning("Configuration warning: %s", warning)
    raise_limit()
    request_short_slices()
    try:
        with asyncio.Runner(
            loop_factory=MeasuredLoop if config["signalbox.data.plane.measure.polls"] else NodeEventLoop
        ) as runner:
            runner.run(serve(config))
    except ConfigRejected as rejected:
        _log_start_failure(rejected)
        return 2
    except (OSError, RuntimeError, StoreError, KafkaError) as error:
        _log_start_failure(error)
        return 1
    except Exception:
        log.exception("Unexpected error, the node stops: please report it with these lines")
        return 1
    return 0


def _log_start_failure(error: Exception) -> None:
    """Logs one line for each fault."""
    for line in str(error).splitlines() or [repr(error)]:
        log.error("not started: %s", line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
