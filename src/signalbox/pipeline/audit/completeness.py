"""Whether the tables hold the whole audit trail, and if not, what is missing, repeated or unread: a sentence for each.

Complete means: there are events, as many as the topic has records up to its end, the sequences were made from all of
them, and the events of every broker epoch are numbered from 0 without gap or repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SHOWN_GAPS = 5


def completeness_findings(completeness: Mapping[str, Any]) -> list[str]:
    """The reasons why the tables of an audit trail are not complete; empty if they are.

    `completeness`: the counts and broker sequences of `figures.py`.
    """
    return [*_counts(completeness), *(finding for broker in completeness["brokers"] for finding in _numbers(broker))]


def completeness_line(figures: Mapping[str, Any]) -> str:
    """One line that says if the audit trail is complete."""
    completeness = figures["completeness"]
    rows, records = completeness["table_rows"] + completeness["dead_rows"], completeness["topic_records"]
    if completeness["complete"]:
        writer_count = len(completeness["brokers"])
        return (
            f"complete: {rows:,} events = {records:,} records, "
            f"seq of {writer_count} writers from 0 without gap or repeat"
        )
    return f"INCOMPLETE: {'; '.join(completeness['findings'])}"


def _counts(completeness: Mapping[str, Any]) -> Iterator[str]:
    rows = completeness["table_rows"] + completeness["dead_rows"]
    records, unread = completeness["topic_records"], completeness["unread_records"]
    if not completeness["brokers"]:
        yield "the audit trail is empty: no broker has an event in the tables"
    if records is None:
        yield f"{rows:,} events in the tables, and no run with this checkpoint location has counted those of the topic"
    elif records != rows:
        yield f"{rows:,} events in the tables, {records:,} records in the topic"
    numbered = sum(broker["events"] for broker in completeness["brokers"])
    if numbered != completeness["table_rows"]:
        yield f"{completeness['table_rows']:,} events in the tables, {numbered:,} in the sequences of the brokers"
    if unread:
        yield f"{unread:,} records of the topic are unread"


def _numbers(broker: Mapping[str, Any]) -> Iterator[str]:
    name = f"broker {broker['broker_id']} epoch {broker['broker_epoch']}"
    if broker["first_seq"] > 0:
        yield f"{name} begins at seq {broker['first_seq']:,}: {broker['first_seq']:,} events before it are missing"
    if broker["missing"]:
        gaps = [f"{first:,}" if first == last else f"{first:,} to {last:,}" for first, last in broker["gaps"]]
        more = f" and {len(gaps) - _SHOWN_GAPS} more gaps" if len(gaps) > _SHOWN_GAPS else ""
        yield f"{name} lacks {broker['missing']:,} events: seq {', '.join(gaps[:_SHOWN_GAPS])}{more}"
    if broker["duplicates"]:
        yield f"{name} has {broker['duplicates']:,} events more than once"
