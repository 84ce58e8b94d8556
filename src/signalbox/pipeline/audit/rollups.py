"""The roll-up tables, one SQL statement each over the view `events`.

A request is counted where the client sent it: roll-ups of frequent APIs, forwarded requests on the broker that received
them, admin requests on the controller only if the client sent them to it directly. Durations are microseconds; -1 in an
event means "not measured" and is left out. Each table is replaced as a whole: late events need no special case.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from signalbox.pipeline.audit.rule_table import REJECTED_KINDS
from signalbox.pipeline.sinks.delta_log import replace_table

ASKED = "(kind IN ('rollup', 'forwarded') OR (kind = 'admin' AND forwarding_principal = ''))"

_MEASURES = """
  sum(count) AS requests,
  sum(greatest(error_count, CASE WHEN kind != 'rollup' AND error NOT IN ('', 'NONE') THEN 1 ELSE 0 END)) AS errors,
  CAST(round(sum(CASE WHEN duration_us >= 0 THEN duration_us END)
       / sum(CASE WHEN duration_us >= 0 THEN count END)) AS BIGINT) AS mean_us,
  max(greatest(max_duration_us, CASE WHEN count = 1 THEN duration_us ELSE -1 END)) AS max_us,
  sum(request_bytes) AS request_bytes, sum(response_bytes) AS response_bytes"""
_SPAN = "min(timestamp_ms) AS first_ms, max(timestamp_ms) AS last_ms"

ROLLUPS: dict[str, str] = {
    # Kinds of events in the audit trail.
    "kinds": f"SELECT kind, sum(count) AS requests, count(*) AS events, {_SPAN} FROM events GROUP BY kind",
    # Requests per client, API, listener and broker.
    "requests": f"""SELECT broker_id, listener, plane, principal, client_id, api, {_MEASURES}, {_SPAN}
        FROM events WHERE {ASKED} GROUP BY ALL""",
    "apis": f"SELECT api, api_version, {_MEASURES} FROM events WHERE {ASKED} GROUP BY ALL",
    # Requests forwarded to the controller: from which broker to which node, and how long the whole hop took.
    "forwarded": """SELECT broker_id, target_node, api, principal, client_id, sum(count) AS requests,
        sum(CASE WHEN error NOT IN ('', 'NONE') THEN 1 ELSE 0 END) AS errors,
        percentile_approx(CASE WHEN duration_us >= 0 THEN duration_us END, 0.5) AS p50_us,
        percentile_approx(CASE WHEN duration_us >= 0 THEN duration_us END, 0.99) AS p99_us,
        min(timestamp_ms) AS first_ms, max(timestamp_ms) AS last_ms
        FROM events WHERE kind = 'forwarded' GROUP BY ALL""",
    # Requests decided by the controller: for which principal, and which broker forwarded them.
    "decided": f"""SELECT broker_id, api, principal, forwarding_principal, client_id, resource, error,
        sum(count) AS requests, {_SPAN} FROM events WHERE kind = 'admin' GROUP BY ALL""",
    "rejected": f"""SELECT kind, broker_id, listener, plane, api, error, reason, principal, client_id, client_address,
        sum(count) AS requests, {_SPAN} FROM events WHERE kind IN {REJECTED_KINDS} GROUP BY ALL""",
    # Misroutes: the node or cluster that the client expected, and the one that it reached.
    "misrouted": f"""SELECT broker_id, listener, expected, actual, error, sum(count) AS requests,
        count(DISTINCT client_id) AS clients, {_SPAN} FROM events WHERE kind = 'misrouted' GROUP BY ALL""",
    # Latency over time, per plane: does a loaded data plane delay the control plane?
    "latency": f"""SELECT timestamp_ms - pmod(timestamp_ms, 10000) AS window_ms, plane, listener, api,
        {_MEASURES} FROM events WHERE {ASKED} OR kind = 'admin' GROUP BY ALL""",
    # The first events of a connection do not have its client software and client id yet: all its events are combined.
    "clients": f"""SELECT client_software, client_id, principal, listener, count(*) AS connections,
        max(api_version) AS newest_api_version, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM (
          SELECT broker_id, broker_epoch, connection_id, listener, max(principal) AS principal,
          max(client_id) AS client_id, max(api_version) AS api_version, {_SPAN},
          max(client_software) AS client_software
          FROM events WHERE connection_id != '' GROUP BY broker_id, broker_epoch, connection_id, listener)
        GROUP BY ALL""",
    # Is the audit trail complete? Per writer: how many events, the first and the last number.
    "sequences": """SELECT broker_id, broker_epoch, count(*) AS events, min(seq) AS first_seq, max(seq) AS last_seq,
        count(DISTINCT seq) AS distinct_seqs FROM events GROUP BY ALL""",
    "gaps": """SELECT broker_id, broker_epoch, before + 1 AS from_seq, seq - 1 AS to_seq FROM (
        SELECT broker_id, broker_epoch, seq, lag(seq) OVER (PARTITION BY broker_id, broker_epoch ORDER BY seq) AS before
        FROM (SELECT DISTINCT broker_id, broker_epoch, seq FROM events)) WHERE seq - before > 1""",
}


def rollup_path(events_table: Path, rollup: str) -> Path:
    """The path of a roll-up of an events table."""
    return events_table.with_name(f"{events_table.name}_{rollup}")


def renew_rollups(events: DataFrame, events_table: Path) -> None:
    """Replaces every roll-up table beside the events table."""
    cached = events.persist()
    cached.createOrReplaceTempView("events")
    try:
        for name, statement in ROLLUPS.items():
            replace_table(rollup_path(events_table, name), cached.sparkSession.sql(statement).toArrow())
    finally:
        cached.unpersist()
