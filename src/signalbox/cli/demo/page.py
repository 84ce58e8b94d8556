"""The demo's report as one HTML page: tables and pictures (inline SVG), no script, nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from signalbox.cli.demo.charts import bars, quantile_dots
from signalbox.cli.demo.stage import Stage

_STYLE = """
:root { --ink: #1c2430; --soft: #66707d; --line: #dfe3e8; --accent: #0b6e99; --warm: #c8553d; --paper: #fbfbf9; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p.lead { color: var(--soft); margin: 0 0 1.5rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.5rem; } .tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; background: #fff; border: 1px solid var(--line); font-size: .88rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0; background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .4rem; } svg { width: 100%; height: auto; }
"""


def write_page(stage: Stage, figures: dict[str, Any]) -> Path:
    """The page, in the demo's folder."""
    parts = [
        _tiles(stage, figures),
        "<h2>Control plane, while the data plane is full</h2>",
        _figure(
            quantile_dots(stage.facts["control_latency_ms"]),
            "Round trips on the forced control plane of all three brokers (ms, logarithmic): every request as a dot,"
            " with the median and the 99th percentile.",
        ),
        "<h2>Flights per carrier, from the Spark table</h2>",
        _figure(bars(stage.facts["carriers"]), "Departures from New York City in 2013, read from the Delta table."),
        "<h2>Who asked what, where</h2>",
        _table(
            figures["requests"][:18],
            ("broker_id", "listener", "client_id", "principal", "api", "requests", "errors"),
        ),
        "<h2>Forwarded to the controller</h2>",
        _table(figures["forwarded"], ("broker_id", "api", "client_id", "principal", "requests", "p50_us", "p99_us")),
        "<h2>Refused</h2>",
        _table(figures["refused"], ("broker_id", "listener", "plane", "api", "client_id", "reason", "requests")),
        "<h2>Misrouted</h2>",
        _table(figures["misrouted"], ("broker_id", "listener", "expected", "actual", "requests")),
        "<h2>Is the trail whole?</h2>",
        _table(figures["completeness"]["brokers"], None),
        "<h2>What was checked</h2>",
        _table(
            [{"step": check.step, "claim": check.claim, "seen": check.seen} for check in stage.checks],
            ("step", "claim", "seen"),
        ),
    ]
    page = stage.folder / "report.html"
    page.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>Signalbox demo</title>"
        f"<style>{_STYLE}</style><h1>Signalbox, the main job</h1>"
        "<p class='lead'>Three brokers, real clients, two swapped addresses, one killed controller, Spark tables.</p>"
        + "\n".join(parts)
        + "</html>\n"
    )
    return page


def _tiles(stage: Stage, figures: dict[str, Any]) -> str:
    facts, totals = stage.facts, figures["totals"]
    produced = facts["produce"]
    tiles = (
        (f"{produced['records']:,}", "flights acknowledged by all in-sync replicas"),
        (f"{produced['bytes'] / produced['seconds'] / 1e6:.0f} MB/s", "produced, replication factor 3"),
        (f"{totals['forwarded']:,}", "changes forwarded in an Envelope"),
        (f"{totals['refused']:,}", "requests refused"),
        (f"{totals['misrouted']:,}", "connections told that they reached the wrong node"),
        (f"{facts['misroute']['rebootstraps']:,}", "times our client bootstrapped again"),
        (f"{facts['failover']['gap_s']:.2f} s", "longest silence around the killed controller"),
        (f"{figures['completeness']['table_rows']:,}", "audit events in the table, none missing"),
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
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(row.get(name)) for name in names) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str | list | dict):
        return f"<td>{escape('' if value is None else str(value))}</td>"
    return f"<td class='n'>{value:,}</td>" if isinstance(value, int) else f"<td class='n'>{value:,.2f}</td>"
