"""The report as one HTML page: no scripts, nothing is loaded from elsewhere, light or dark as the reader's system is.

It fits a screen of 480 pixels: pictures scale, long words break, and the rows of a table fold into cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from signalbox import __version__
from signalbox.common.report_style import REPORT_STYLE
from signalbox.pipeline.report.anomalies import Anomaly, anomalies
from signalbox.pipeline.report.parts import csv_link, figure, section, table, tiles
from signalbox.pipeline.report.pictures import bar_picture, latency_picture, talk_picture

SHOWN_ROWS = 20

AUDIT_STYLE = """
a { color: var(--accent); } p.csv { margin: -.6rem 0 1rem; font-size: .85rem; }
.result { border-left: .3rem solid var(--good); padding: .3rem .8rem; background: var(--card); }
.result.bad { border-color: var(--warm); }
svg .link { stroke: var(--accent); stroke-opacity: .45; } svg .line { fill: none; stroke-width: 1.5; }
.accent-line { stroke: var(--accent); } .warm-line { stroke: var(--warm); } .soft-line { stroke: var(--soft); }
li.error::marker { content: "\\2716  "; color: var(--warm); } li.warning::marker { content: "\\26A0  "; }
"""

_TABLES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("Requests", "Who asked what on which listener, the most frequent first.", "requests",
     ("principal", "client_id", "broker_id", "listener", "api", "requests", "errors", "mean_us", "max_us")),
    ("Forwarded to the controller", "Changes that reached another broker than the active controller.", "forwarded",
     ("broker_id", "target_node", "api", "principal", "client_id", "requests", "errors", "p50_us", "p99_us")),
    ("Decided by the controller", "Changes, with the principal of the client and of the broker that forwarded them.",
     "decided", ("api", "resource", "principal", "forwarding_principal", "error", "requests")),
    ("Rejected", "Requests that a listener or plane does not accept, and what was denied.", "rejected",
     ("kind", "broker_id", "listener", "plane", "api", "principal", "client_address", "error", "reason", "requests")),
    ("Misrouted", "Requests that meant another node than they reached, with the error that they got.", "misrouted",
     ("expected", "actual", "error", "broker_id", "listener", "requests", "clients")),
    ("Clients", "Software that connected, the latest first.", "clients",
     ("client_software", "client_id", "principal", "listener", "connections")),
)  # fmt: skip
_COUNTED = ("requests", "forwarded", "rejected", "denied", "misrouted", "connections")


def report_document(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The report as plain JSON values: the figures and the anomalies."""
    return {**figures, "anomalies": [anomaly.as_json() for anomaly in anomalies(figures)]}


def report_page(figures: Mapping[str, Any], warehouse: str) -> str:
    """The report as HTML."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Audit trail of {escape(warehouse)}</title><style>{REPORT_STYLE}{AUDIT_STYLE}</style></head><body>"
        f"<h1>Audit trail</h1><p class='soft'>{escape(_provenance(figures['totals'], warehouse))}</p>"
        + "\n".join(report_sections(figures))
        + "</body></html>\n"
    )


def report_sections(figures: Mapping[str, Any]) -> list[str]:
    """The report without its head, for a page with these styles: REPORT_STYLE and AUDIT_STYLE."""
    return [
        _result(figures["completeness"]),
        tiles((f"{figures['totals'][name]:,}", name) for name in _COUNTED),
        *_anomalies(anomalies(figures)),
        *section("Who talks to whom", "The clients with most requests, and the brokers with their listeners."),
        _picture(talk_picture(figures["requests"]), figures["requests"]),
        *section("Latency over time", "Mean of ten seconds, on a logarithmic axis."),
        _picture(latency_picture(figures["latency"]), figures["latency"]),
        *section("Misroutes by pair", "What was expected, and what was reached."),
        _picture(bar_picture(_pairs(figures["misrouted"])), figures["misrouted"]),
        *(part for title, meaning, name, columns in _TABLES for part in _list(title, meaning, name, columns, figures)),
        *section("Brokers of the audit trail", "One row for each start of a broker: its events are numbered from 0."),
        table(
            figures["completeness"]["brokers"],
            ("broker_id", "broker_epoch", "events", "first_seq", "last_seq", "missing", "duplicates"),
        ),
    ]


def _list(title: str, meaning: str, name: str, columns: Sequence[str], figures: Mapping[str, Any]) -> tuple[str, ...]:
    rows = figures[name]
    return (*section(title, meaning), table(rows[:SHOWN_ROWS], columns), csv_link(f"{name}.csv", rows))


def _provenance(totals: Mapping[str, Any], warehouse: str) -> str:
    if totals["first_ms"] is None:
        return f"{warehouse}, no events, Signalbox {__version__}"
    first, last = (datetime.fromtimestamp(totals[key] / 1000, UTC) for key in ("first_ms", "last_ms"))
    return f"{warehouse}, {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC, Signalbox {__version__}"


def _result(completeness: Mapping[str, Any]) -> str:
    if completeness["complete"]:
        rows = completeness["table_rows"] + completeness["dead_rows"]
        return (
            f"<p class='result'><b>Complete.</b> {rows:,} events are as many as the topic had records, and those of"
            f" {len(completeness['brokers'])} broker epochs are numbered from 0 without gap or repeat.</p>"
        )
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in completeness["findings"])
    return f"<div class='result bad'><b>Not complete.</b> Every other figure may be too low.<ul>{findings}</ul></div>"


def _anomalies(found: Sequence[Anomaly]) -> tuple[str, ...]:
    items = "".join(
        f"<li class='{anomaly.severity}'><b>{escape(anomaly.rule)}</b>: {escape(anomaly.text)}</li>"
        for anomaly in found[:SHOWN_ROWS]
    )
    more = len(found) - SHOWN_ROWS
    rest = f"<p class='soft'>{more:,} more are in the report of --json.</p>" if more > 0 else ""
    meaning = f"{len(found)} found." if found else "None found."
    return (*section("Anomalies", meaning), f"<ul>{items}</ul>{rest}")


def _pairs(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    return [(f"{row['expected']} → {row['actual']}", row["requests"]) for row in rows[:SHOWN_ROWS]]


def _picture(svg: str, rows: Sequence[Any]) -> str:
    return figure(svg) if rows else "<p class='soft'>None.</p>"
