"""Applies the rules to the events of a batch: Spark groups them, the driver decides.

The groups are few, whatever the number of events: clients, listeners and reasons. Only events that a rule can need are
grouped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from signalbox.pipeline.alerts.alert_topic import AlertTopic
from signalbox.pipeline.alerts.rules import AlertRules, EventGroup
from signalbox.pipeline.audit.rule_table import ANONYMOUS, MISROUTED_KIND, RULE_TABLE, SERVED_KINDS

_MEASURES = ("seq", "count", "first_ms", "last_ms")
_GROUPED = tuple(field.name for field in fields(EventGroup) if field.name not in _MEASURES)
_KINDS = ", ".join(f"'{kind}'" for text in RULE_TABLE.values() for kind in text.kinds)
NEEDED = f"kind IN ({_KINDS}) OR principal NOT IN ('', '{ANONYMOUS}') OR forwarding_principal != ''"


def event_groups(events: DataFrame) -> list[EventGroup]:
    """The events that the rules need, grouped. A client's port changes with each connection and is left out."""
    named = events.filter(NEEDED).withColumn("client_address", F.regexp_replace("client_address", r":\d+$", ""))
    grouped = named.groupBy(*_GROUPED).agg(
        F.min("seq").alias("seq"),
        F.sum("count").alias("count"),
        F.min("timestamp_ms").alias("first_ms"),
        F.max("timestamp_ms").alias("last_ms"),
    )
    return [EventGroup(**{name: row[name] for name in (*_GROUPED, *_MEASURES)}) for row in grouped.collect()]


def recall(rules: AlertRules, events: DataFrame) -> None:
    """Gives the rules what they have seen in these events, whose alerts an earlier run has written."""

    def distinct(where: str, *columns: str) -> list[Row]:
        return events.filter(where).select(*columns).distinct().collect()

    served = f"kind IN {SERVED_KINDS} AND forwarding_principal = ''"
    newest = F.max("timestamp_ms").alias("newest_ms")
    (last,) = events.filter(f"kind = '{MISROUTED_KIND}'").agg(newest).collect()
    misroutes: list[EventGroup] = []
    if last.newest_ms is not None:
        from_ms = last.newest_ms - rules.settings.window_ms
        recent = event_groups(events.filter(f"kind = '{MISROUTED_KIND}' AND timestamp_ms >= {from_ms}"))
        misroutes = sorted(recent, key=lambda group: group.last_ms)
    rules.recall(
        (row.forwarding_principal for row in distinct("forwarding_principal != ''", "forwarding_principal")),
        ((row.listener, row.principal) for row in distinct(served, "listener", "principal")),
        misroutes,
    )


def alert_writer(rules: AlertRules, topic: AlertTopic, say: Callable[[str], None]) -> Callable[[DataFrame], None]:
    """A function for the rows of each batch that writes its alerts."""

    def write(events: DataFrame) -> None:
        alerts = rules.alerts(event_groups(events))
        for alert in alerts:
            say(f"alert: {alert.rule}: {alert.text}")
        topic.write(alerts)

    return write
