"""`signalbox audit tail`: the events of the audit trail, read from its topic without Spark."""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalbox.cli.connect import fail, run_client
from signalbox.cli.shell.instants import instant_ms, instant_text
from signalbox.cli.shell.shared_options import shared
from signalbox.common.audit_event import AUDIT_TOPIC, AuditKind
from signalbox.common.visible_text import visible

if TYPE_CHECKING:
    from signalbox.client.cluster_client import ClusterClient

app = typer.Typer(help="The audit trail: tail.", no_args_is_help=True)

_POLL_MS = 200
_DETAILS = (
    "listener", "principal", "client_address", "client_id", "api", "resource", "error", "reason", "expected", "actual",
)  # fmt: skip

_PLAIN = re.compile(r"""[^\s="'`\\]+""")


@app.callback()
def _audit() -> None:
    """The audit trail: tail."""


@app.command("tail", epilog="Example: signalbox audit tail --kind rejected,misrouted,denied --follow")
def tail(
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND,...", help=f"Only these kinds: {', '.join(AuditKind)}.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new events as they arrive, until Ctrl-C.")
    ] = False,
    last: Annotated[int, typer.Option("--last", "-n", min=0, metavar="N", help="The last N events of the past.")] = 20,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Look back to: 15m, 2h, 1d ago, or 2026-11-26T19:00:00 (UTC).")
    ] = "1h",
) -> None:
    """Print the last events of the audit trail, and new ones with --follow; with --json as they are stored."""
    kinds = _kinds(kind)
    try:
        since_ms = instant_ms(since)
    except ValueError as error:
        fail(str(error), code=2)
    run_client(lambda client: _tail(client, kinds, since_ms, last, follow))


def _kinds(text: str | None) -> frozenset[str]:
    kinds = frozenset(AuditKind) if text is None else frozenset(text.split(","))
    unknown = sorted(kinds - frozenset(AuditKind))
    if unknown:
        fail(f"{unknown[0]!r} is not a kind of event: expected {', '.join(AuditKind)}", code=2)
    return frozenset(map(str, kinds))


async def _tail(client: ClusterClient, kinds: frozenset[str], since_ms: int, last: int, follow: bool) -> None:
    from signalbox.cli.records.start_offsets import Start, start_offsets
    from signalbox.client.admin_apis.offset_admin import LATEST, OffsetAdmin
    from signalbox.client.consumer import Consumer
    from signalbox.common.ids import TopicPartition

    admin = OffsetAdmin(client)
    partitions = [TopicPartition(AUDIT_TOPIC, number) for number in (await client.topic(AUDIT_TOPIC)).partitions]
    ends = await admin.list_offsets(partitions, LATEST)
    consumer = Consumer(client)
    past: deque[dict[str, Any]] | None = deque(maxlen=last)
    try:
        await consumer.assign(await start_offsets(admin, partitions, Start("time", since_ms)))
        while past is not None or follow:
            records = await consumer.poll(_POLL_MS)
            events = [event for row in records if (event := _event(row.value)).get("kind") in kinds]
            if past is None:
                _print(events)
                continue
            past.extend(events)
            positions = consumer.positions()
            if all(positions[one] >= end for one, end in ends.items()):
                _print(sorted(past, key=lambda event: int(event.get("timestamp_ms", 0))))
                past = None
    finally:
        await consumer.close()


def _event(value: bytes | None) -> dict[str, Any]:
    try:
        event = json.loads(value or b"{}")
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _print(events: list[dict[str, Any]]) -> None:
    for event in events:
        print(json.dumps(event, ensure_ascii=False) if shared().as_json else event_line(event))
    sys.stdout.flush()


def event_line(event: Mapping[str, Any]) -> str:
    """An event as one line: time, broker, kind, and the fields that apply."""
    count = f" x{_shown(event['count'])}" if event.get("count", 1) != 1 else ""
    details = [f"{name}={_shown(event[name])}" for name in _DETAILS if event.get(name) not in (None, "", -1)]
    time = instant_text(int(event.get("timestamp_ms", 0)), "milliseconds")
    return " ".join([time, f"broker={_shown(event.get('broker_id'))}", f"{_shown(event.get('kind'))}{count}", *details])


def _shown(value: Any) -> str:
    """A value that neither a terminal nor a reader of the line takes for something else: clients choose some of them.
    Quoted if it is not one plain word, with escapes for what cannot be printed."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return visible(text)
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{visible(escaped)}"'
