"""Applies the rules to the events of a batch: Spark groups them, the driver decides.

The groups are few, whatever the number of events: clients, listeners and reasons, and for misroutes, whose number
within a minute counts, pairs of nodes and slices of time. Only events that a rule can need are grouped.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from signalbox.pipeline.alerts.alert_topic import AlertTopic
from signalbox.pipeline.alerts.rules import AlertRules, EventGroup
from signalbox.pipeline.alerts.windows import SLICE_MS
from signalbox.pipeline.audit.rule_table import ANONYMOUS, MISROUTED_KIND, RULE_TABLE, SERVED_KINDS

_CLIENT = (
    "broker_id", "broker_epoch", "listener", "plane", "principal", "forwarding_principal", "client_id",
    "client_address", "api", "reason",
)  # fmt: skip
_MEASURES = ("count", "first_ms", "last_ms")
_KINDS = ", ".join(f"'{kind}'" for text in RULE_TABLE.values() for kind in text.kinds)
NEEDED = f"kind IN ({_KINDS}) OR principal NOT IN ('', '{ANONYMOUS}') OR forwarding_principal != ''"


def event_groups(events: DataFrame) -> list[EventGroup]:
    """The events that the rules need, grouped. A client's port changes with each connection and is left out."""
    named = events.filter(NEEDED).withColumn("client_address", F.regexp_replace("client_address", r":\d+$", ""))
    is_misroute = F.col("kind") == MISROUTED_KIND
    keys = (
        "kind",
        "expected",
        "actual",
        F.when(is_misroute, F.expr(f"timestamp_ms - pmod(timestamp_ms, {SLICE_MS})")).alias("slice"),
        # Slices times clients would be as many groups as events: of misroutes, the first event names the client.
        F.when(~is_misroute, F.struct(*_CLIENT)).alias("client"),
    )
    grouped = named.groupBy(*keys).agg(
        F.min(F.struct("timestamp_ms", "broker_id", "broker_epoch", "seq", *_CLIENT[2:])).alias("first"),
        F.sum("count").alias("count"),
        F.min("timestamp_ms").alias("first_ms"),
        F.max("timestamp_ms").alias("last_ms"),
    )
    return [
        EventGroup(
            **{name: row[name] for name in ("kind", "expected", "actual", *_MEASURES)},
            **{name: row["first"][name] for name in ("seq", *_CLIENT)},
        )
        for row in grouped.collect()
    ]


def recall(rules: AlertRules, events: DataFrame) -> None:
    """Gives the rules what they have seen in these events, whose alerts an earlier run has written."""

    def distinct(where: str, *columns: str) -> list[Row]:
        return events.filter(where).select(*columns).distinct().collect()

    served = f"kind IN {SERVED_KINDS} AND forwarding_principal = ''"
    newest = F.max("timestamp_ms").alias("newest_ms")
    misrouted = events.filter(f"kind = '{MISROUTED_KIND}'")
    # Of each broker by its own clock: one that is ahead would leave out those of the others.
    recent = [
        f"(broker_id = {row.broker_id} AND timestamp_ms >= {row.newest_ms - rules.settings.window_ms})"
        for row in misrouted.groupBy("broker_id").agg(newest).collect()
    ]
    misroutes = event_groups(misrouted.filter(" OR ".join(recent))) if recent else []
    rules.recall(
        (row.forwarding_principal for row in distinct("forwarding_principal != ''", "forwarding_principal")),
        ((row.listener, row.principal) for row in distinct(served, "listener", "principal")),
        sorted(misroutes, key=lambda group: group.first_ms),
    )


def alert_writer(rules: AlertRules, topic: AlertTopic, say: Callable[[str], None]) -> Callable[[DataFrame, int], None]:
    """A function for the rows of each batch, and its number, that writes its alerts.

    What the rules see in a batch counts when its alerts are written, and once: a batch that fails later is repeated
    with what the rules knew before it.
    """
    before = after = rules
    last_batch: int | None = None

    def write(events: DataFrame, batch_id: int) -> None:
        nonlocal before, after, last_batch
        known = before if batch_id == last_batch else after
        seeing = known.copied()
        alerts = seeing.alerts(event_groups(events))
        for alert in alerts:
            say(f"alert: {alert.rule}: {alert.text}")
        topic.write(alerts)
        before, after, last_batch = known, seeing, batch_id

    return write
