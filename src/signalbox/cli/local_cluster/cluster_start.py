"""Around the start of a cluster of `signalbox up`: the topics of `--topic NAME[:partitions[:replication factor]]`, and
the report of a start that failed, with the cause first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from signalbox.client.admin_apis.topic_admin import NewTopic, TopicAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.error_table import Error

_CAUSE = re.compile(r"^\S+ (?:ERROR|CRITICAL)\s+(?:node=\S+ )?[\w.]+: (.*)$")
_NOT_STARTED = "not started: "  # below the faults of the configuration
_WARNING = "warning: "  # of a key that is not known: it may explain a fault, but is none
_IN_USE = "Address already in use"
_OTHER_PORTS = "`signalbox up --port N` takes the ports from N on, `--port 0` free ones."
_LAST_LINES = 12


def parse_topic(text: str) -> NewTopic:
    """ValueError for an invalid text."""
    name, *numbers = text.split(":")
    if not name or len(numbers) > 2 or not all(number.isdecimal() and int(number) for number in numbers):
        raise ValueError(f"--topic takes NAME[:partitions[:replication factor]], not {text!r}")
    partitions, replicas = (*map(int, numbers), -1, -1)[:2]
    return NewTopic(name=name, num_partitions=partitions, replication_factor=replicas)


def create_topics(bootstrap: str, topics: Sequence[NewTopic]) -> list[str]:
    """Create the topics that do not exist; returns the errors of the others."""

    async def create() -> list[str]:
        async with ClusterClient(ClientSettings.of(bootstrap, client_id="signalbox-up")) as client:
            results = await TopicAdmin(client).create_topics(topics)
        return [
            f"topic {result.name} was not created: {result.message or result.error.message}"
            for result in results.values()
            if result.error not in (Error.NONE, Error.TOPIC_ALREADY_EXISTS)
        ]

    return asyncio.run(create()) if topics else []


def cause_first(failure: str) -> list[str]:
    """Lines to print: what failed, why, and the end of the log. `failure` is the text of ClusterFailed."""
    headline, *log = failure.splitlines()
    causes = [match[1] for line in log if (match := _CAUSE.match(line))]
    name = headline.partition(";")[0]
    if log and log[-1].startswith(_NOT_STARTED):
        return [f"{name}: {line}" for line in sorted(log[:-1], key=lambda line: line.startswith(_WARNING))]
    if not causes:
        return [headline, *log]
    rest = log[-_LAST_LINES:]
    hint = [_OTHER_PORTS] if any(_IN_USE in cause for cause in causes) else []
    return [*(f"{name}: {cause}" for cause in dict.fromkeys(causes)), *hint, "the end of its log:", *rest]
