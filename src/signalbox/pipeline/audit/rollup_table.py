"""What the roll-up tables contain: one row per state, and SQL from its parts to the roll-up tables.

A state is an aggregate of events that can be combined with that of later events, so that no event is read twice: sums
instead of means, sketches instead of percentiles, ranges of sequence numbers instead of counts of different ones. A
combined state gives one or more roll-up tables.

A request is counted where the client sent it: roll-ups of frequent APIs, forwarded requests on the broker that received
them, admin requests on the controller only if the client sent them to it directly. Durations are microseconds; -1 in an
event means "not measured" and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from signalbox.pipeline.audit.rule_table import REJECTED_KINDS
from signalbox.pipeline.object_store.location import TableLocation

_ASKED = "(kind IN ('rollup', 'forwarded') OR (kind = 'admin' AND forwarding_principal = ''))"
_MEASURED = "CASE WHEN duration_us >= 0 THEN {} END"

# Name of a column → aggregate function and expression over an event. A state is combined with the same functions, but
# that sketches have one of their own.
_Measures = Mapping[str, tuple[str, str]]
_MERGE_FUNCTIONS = {"sum": "sum", "min": "min", "max": "max", "kll_sketch_agg_bigint": "kll_merge_agg_bigint"}

_REQUESTS: _Measures = {"requests": ("sum", "count")}
_SPAN: _Measures = {"first_ms": ("min", "timestamp_ms"), "last_ms": ("max", "timestamp_ms")}
_COSTS: _Measures = {
    **_REQUESTS,
    "errors": (
        "sum", "greatest(error_count, CASE WHEN kind != 'rollup' AND error NOT IN ('', 'NONE') THEN 1 ELSE 0 END)"
    ),
    "measured_us": ("sum", _MEASURED.format("duration_us")),
    "measured_requests": ("sum", _MEASURED.format("count")),
    "max_us": ("max", "greatest(max_duration_us, CASE WHEN count = 1 THEN duration_us ELSE -1 END)"),
    "request_bytes": ("sum", "request_bytes"),
    "response_bytes": ("sum", "response_bytes"),
}  # fmt: skip
_COST_COLUMNS = """requests, errors, CAST(round(measured_us / measured_requests) AS BIGINT) AS mean_us, max_us,
    request_bytes, response_bytes"""
_PERCENTILE = "CASE WHEN kll_sketch_get_n_bigint(durations) > 0 THEN kll_sketch_get_quantile_bigint(durations, {}) END"


class State(NamedTuple):
    """`of_events` aggregates the view `events`; `combined` the view `parts`, which has the states of earlier and of new
    events; `tables` are the roll-up tables, each a query of the view `state`."""

    of_events: str
    combined: str
    tables: Mapping[str, str]


def _grouped(
    keys: str | Mapping[str, str], measures: _Measures, tables: Mapping[str, str], where: str = "true"
) -> State:
    """`keys`: columns of the events, or names with expressions."""
    expressions = keys if isinstance(keys, Mapping) else {key: key for key in keys.split()}
    names = ", ".join(expressions)
    grouped = ", ".join(f"{expression} AS {name}" for name, expression in expressions.items())
    first = ", ".join(f"{function}({expression}) AS {name}" for name, (function, expression) in measures.items())
    again = ", ".join(f"{_MERGE_FUNCTIONS[function]}({name}) AS {name}" for name, (function, _) in measures.items())
    return State(
        f"SELECT {grouped}, {first} FROM events WHERE {where} GROUP BY ALL",
        f"SELECT {names}, {again} FROM parts GROUP BY ALL",
        {name: f"SELECT {columns} FROM state" for name, columns in tables.items()},
    )


_CLIENT = "broker_id listener plane principal client_id api"
_DECIDED = "broker_id api principal forwarding_principal client_id resource error"
_REJECTED = "kind broker_id listener plane api error reason principal client_id client_address"
_SPAN_COLUMNS = "first_ms, last_ms"


def _columns(keys: str) -> str:
    return ", ".join(keys.split())


STATES: dict[str, State] = {
    # Kinds of events in the audit trail.
    "kinds": _grouped(
        "kind", {**_REQUESTS, "events": ("sum", "1"), **_SPAN}, {"kinds": f"kind, requests, events, {_SPAN_COLUMNS}"}
    ),
    # Requests per client, API, listener and broker.
    "requests": _grouped(
        _CLIENT, {**_COSTS, **_SPAN}, {"requests": f"{_columns(_CLIENT)}, {_COST_COLUMNS}, {_SPAN_COLUMNS}"}, _ASKED
    ),
    "apis": _grouped("api api_version", _COSTS, {"apis": f"api, api_version, {_COST_COLUMNS}"}, _ASKED),
    # Requests forwarded to the controller: from which broker to which node, and how long the whole hop took.
    "forwarded": _grouped(
        "broker_id target_node api principal client_id",
        {
            **_REQUESTS,
            "errors": ("sum", "CASE WHEN error NOT IN ('', 'NONE') THEN 1 ELSE 0 END"),
            "durations": ("kll_sketch_agg_bigint", _MEASURED.format("duration_us")),
            **_SPAN,
        },
        {
            "forwarded": f"""broker_id, target_node, api, principal, client_id, requests, errors,
                {_PERCENTILE.format(0.5)} AS p50_us, {_PERCENTILE.format(0.99)} AS p99_us, {_SPAN_COLUMNS}"""
        },
        "kind = 'forwarded'",
    ),
    # Requests decided by the controller: for which principal, and which broker forwarded them.
    "decided": _grouped(
        _DECIDED,
        {**_REQUESTS, **_SPAN},
        {"decided": f"{_columns(_DECIDED)}, requests, {_SPAN_COLUMNS}"},
        "kind = 'admin'",
    ),
    "rejected": _grouped(
        _REJECTED,
        {**_REQUESTS, **_SPAN},
        {"rejected": f"{_columns(_REJECTED)}, requests, {_SPAN_COLUMNS}"},
        f"kind IN {REJECTED_KINDS}",
    ),
    # Misroutes: the node or cluster that the client expected, and the one that it reached.
    "misrouted": _grouped(
        "broker_id listener expected actual error client_id",
        {**_REQUESTS, **_SPAN},
        {},
        "kind = 'misrouted'",
    )._replace(
        tables={
            "misrouted": """SELECT broker_id, listener, expected, actual, error, sum(requests) AS requests,
                count(*) AS clients, min(first_ms) AS first_ms, max(last_ms) AS last_ms
                FROM state GROUP BY ALL"""
        }
    ),
    # Latency over time, per plane: does a loaded data plane delay the control plane?
    "latency": _grouped(
        {
            "window_ms": "timestamp_ms - pmod(timestamp_ms, 10000)",
            "plane": "plane",
            "listener": "listener",
            "api": "api",
        },
        _COSTS,
        {"latency": f"window_ms, plane, listener, api, {_COST_COLUMNS}"},
        f"({_ASKED} OR kind = 'admin')",
    ),
    # The first events of a connection do not have its client software and client id yet: all its events are combined.
    "connections": _grouped(
        "broker_id broker_epoch connection_id listener",
        {name: ("max", name) for name in ("principal", "client_id", "api_version", "client_software")} | dict(_SPAN),
        {},
        "connection_id != ''",
    )._replace(
        tables={
            "clients": """SELECT client_software, client_id, principal, listener, count(*) AS connections,
                max(api_version) AS newest_api_version, min(first_ms) AS first_ms, max(last_ms) AS last_ms
                FROM state GROUP BY ALL"""
        }
    ),
    # Is the audit trail complete? Per writer, the ranges of numbers without a gap, and the number of events in each.
    "ranges": State(
        """SELECT broker_id, broker_epoch, min(seq) AS from_seq, max(seq) AS to_seq, sum(events) AS events FROM (
             SELECT *, seq - row_number() OVER (PARTITION BY broker_id, broker_epoch ORDER BY seq) AS range FROM (
               SELECT broker_id, broker_epoch, seq, count(*) AS events FROM events GROUP BY ALL))
           GROUP BY broker_id, broker_epoch, range""",
        """SELECT broker_id, broker_epoch, min(from_seq) AS from_seq, max(to_seq) AS to_seq, sum(events) AS events
           FROM (SELECT *, sum(CASE WHEN from_seq > reached + 1 THEN 1 ELSE 0 END) OVER (
                   PARTITION BY broker_id, broker_epoch ORDER BY from_seq, to_seq
                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS range
                 FROM (SELECT *, max(to_seq) OVER (
                         PARTITION BY broker_id, broker_epoch ORDER BY from_seq, to_seq
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM parts))
           GROUP BY broker_id, broker_epoch, range""",
        {
            "sequences": """SELECT broker_id, broker_epoch, sum(events) AS events, min(from_seq) AS first_seq,
                max(to_seq) AS last_seq, sum(to_seq - from_seq + 1) AS distinct_seqs FROM state GROUP BY ALL""",
            "gaps": """SELECT broker_id, broker_epoch, before + 1 AS from_seq, from_seq - 1 AS to_seq FROM (
                SELECT *, lag(to_seq) OVER (PARTITION BY broker_id, broker_epoch ORDER BY from_seq) AS before
                FROM state) WHERE before IS NOT NULL""",
        },
    ),
}  # fmt: skip

ROLLUPS = tuple(name for state in STATES.values() for name in state.tables)


def rollup_path(events_table: TableLocation, rollup: str) -> TableLocation:
    """The path of a roll-up of an events table."""
    return events_table.with_name(f"{events_table.name}_{rollup}")
