"""kafkajs from npm: an idempotent producer, a group of two, admin (`node/clients.js`)."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial

from tests.system.conftest import MakeTopic
from tests.system.provision import HERE, command, node_modules

NEEDS = (node_modules, partial(command, "node"))


def test_produces_consumes_and_administers(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    run = subprocess.run(
        [command("node"), str(HERE / "node" / "clients.js"), kafka_bootstrap, topic],
        env={**os.environ, "NODE_PATH": str(node_modules()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "distinct": 500,
        "headers": True,
        "created": True,
        "brokers": 3,
        "partitions": 3,
        "end": 500,
        "committed": 500,
        "listed": True,
    }
