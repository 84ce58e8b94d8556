"""The demo's report as one HTML page: tables and charts (inline SVG), without scripts and external resources."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from signalbox import __version__
from signalbox.cli.demo.charts import MOST_DOTS, bars, quantile_dots
from signalbox.cli.demo.stage import Stage
from signalbox.cli.demo.wording import api_name, counted, plain

_STYLE = """
:root { --ink: #1c2430; --soft: #66707d; --line: #dfe3e8; --accent: #0b6e99; --warm: #c8553d; --paper: #fbfbf9; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p.lead { color: var(--soft); margin: 0 0 1.5rem; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: .8rem; }
@media (max-width: 40rem) { .tiles { grid-template-columns: repeat(2, 1fr); } }
.wide { overflow-x: auto; } td.ok { color: #2e7d4f; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.5rem; } .tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; background: #fff; border: 1px solid var(--line); font-size: .88rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0; background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .4rem; } svg { width: 100%; height: auto; }
"""


_SHOWN_REQUESTS = 18
_PACKAGES = ("pyspark", "deltalake", "confluent-kafka", "kafka-python")


def write_page(stage: Stage, figures: dict[str, Any]) -> Path:
    """Writes the page into the demo's folder."""
    latency = stage.facts["control_latency_ms"]
    components = [
        _tiles(stage, figures),
        *_section("Control plane, idle and while one client produces", "The controller's requests have connections"
                  " and a queue of their own; these are round trips of ApiVersions there."),
        _figure(quantile_dots(latency), _latency_caption(latency)),
        *_section("Flights per carrier", "Read back from the Delta table that Spark wrote."),
        _figure(bars(stage.facts["carriers"]), "Departures from New York City in 2013."),
        *_section("Requests", f"Who asked what on which listener, from the audit table: the {_SHOWN_REQUESTS} most"
                  " frequent rows."),
        _table(
            figures["requests"][:_SHOWN_REQUESTS],
            ("broker_id", "listener", "client_id", "principal", "api", "requests", "errors"),
        ),
        *_section("Forwarded to the controller", "Changes that reached another broker than the active controller."),
        _table(figures["forwarded"], ("broker_id", "api", "client_id", "principal", "requests", "p50_us", "p99_us")),
        *_section("Rejected", "Requests that a listener or plane does not take, and what was denied."),
        _table(figures["rejected"], ("broker_id", "listener", "plane", "api", "client_id", "reason", "requests")),
        *_section("Misrouted", "Connections that meant another node, while two addresses were swapped."),
        _table(figures["misrouted"], ("broker_id", "listener", "expected", "actual", "requests")),
        *_section("Audit trail completeness", "One row for each start of a broker: its events are numbered from 0."),
        _table(figures["completeness"]["brokers"], None),
        *_section("Checks", "Each was compared while the demo ran; the first that fails would have ended it."),
        _table(
            [{"": "✓", "step": check.step, "claim": check.claim, "seen": check.seen} for check in stage.checks],
            ("", "step", "claim", "seen"),
        ),
    ]  # fmt: skip
    page = stage.folder / "report.html"
    page.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>Signalbox demo</title>"
        f"<style>{_STYLE}</style><h1>Signalbox: demo report</h1>"
        "<p class='lead'>Three brokers, real clients, two swapped addresses, one killed controller, Spark tables.<br>"
        f"{escape(_provenance(stage))}</p>" + "\n".join(components) + "</html>\n",
        encoding="utf-8",
    )
    return page


def page_faults(page: Path, stage: Stage) -> list[str]:
    """The faults of the written page; empty if there are none."""
    text = page.read_text(encoding="utf-8")
    faults = [f"not shown: {check.claim}" for check in stage.checks if f"<td>{escape(check.claim)}</td>" not in text]
    faults += [f"loaded from elsewhere: {reference}" for reference in re.findall(r"(?:src|href)=|url\(|<script", text)]
    if not text.endswith("</html>\n"):
        faults.append("the page is cut short")
    return faults


def _provenance(stage: Stage) -> str:
    """The time, the machine and the versions."""
    versions = ", ".join([f"signalbox {__version__}", *(f"{name} {_version(name)}" for name in _PACKAGES)])
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {platform.node()}: {platform.system()} {platform.release()}, "
        f"{counted(os.cpu_count() or 1, 'processor')}, Python {platform.python_version()}, {versions}; "
        f"pipeline profile {stage.facts.get('profile', 'unknown')}."
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _latency_caption(latency: dict[str, list[float]]) -> str:
    drawn = "; ".join(f"{name}: {counted(len(values), 'round trip')}" for name, values in latency.items())
    return (
        f"ms, logarithmic; {drawn}. At most {MOST_DOTS} evenly chosen dots a line; median and 99th percentile are of"
        " all. The clients that ask, the one that produces and the brokers share this machine's processors, the first"
        " two one Python interpreter as well: the figures hold their waits."
    )


def _section(title: str, meaning: str) -> tuple[str, str]:
    return f"<h2>{escape(title)}</h2>", f"<p class='lead'>{escape(meaning)}</p>"


def _tiles(stage: Stage, figures: dict[str, Any]) -> str:
    facts, totals, completeness = stage.facts, figures["totals"], figures["completeness"]
    produced = facts["produce"]
    tiles = (
        (f"{produced['records']:,}", "flights acknowledged by all in-sync replicas"),
        (f"{produced['bytes'] / produced['seconds'] / 1e6:.0f} MB/s", "produced, replication factor 3"),
        (f"{facts['failover']['gap_s']:.2f} s", "longest silence around the killed controller"),
        (f"{totals['forwarded']:,}", "changes forwarded in an Envelope"),
        (f"{totals['rejected']:,}", "requests rejected"),
        (f"{totals['misrouted']:,}", "connections that reached the wrong node"),
        (f"{facts['misroute']['rebootstraps']:,}", "rebootstraps of our client"),
        (f"{completeness['table_rows']:,}", f"audit events in the table, {completeness['missing_events']:,} missing"),
    )
    cells = "".join(
        f"<div class='tile'><b>{escape(value)}</b><span>{escape(text)}</span></div>" for value, text in tiles
    )
    return f"<div class='tiles'>{cells}</div>"


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...] | None) -> str:
    if not rows:
        return "<p class='lead'>None.</p>"
    names = columns or tuple(rows[0])
    head = "".join(f"<th>{escape(_heading(name))}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(name, row.get(name)) for name in names) + "</tr>" for row in rows)
    return f"<div class='wide'><table><tr>{head}</tr>{body}</table></div>"


def _heading(name: str) -> str:
    return name.removesuffix("_us").replace("_", " ") + (" ms" if name.endswith("_us") else "")


def _cell(name: str, value: Any) -> str:
    if name.endswith("_us") and isinstance(value, int | float):
        return f"<td class='n'>{value / 1000:,.2f}</td>"
    if name == "api":
        value = api_name(str(value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = " class='n'" if number else " class='ok'" if value == "✓" else ""
    return f"<td{kind}>{escape(plain(value))}</td>"
