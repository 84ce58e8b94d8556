"""The demo's report as one HTML page: tables and charts (inline SVG), without scripts and external resources."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from signalbox import __version__
from signalbox.cli.demo.charts import bars, quantile_dots
from signalbox.cli.demo.failover_timeline import BIN_S, failover_timeline
from signalbox.cli.demo.loaded_latency import latency_caption, recorded_caption, recorded_rows
from signalbox.cli.demo.stage import Stage, counted
from signalbox.cli.demo.swap_picture import swap_caption, swap_picture
from signalbox.common.report_style import REPORT_STYLE
from signalbox.pipeline.report.page import AUDIT_STYLE, report_sections
from signalbox.pipeline.report.parts import PASSED, definitions, figure, section, table, tiles

_LOADED = re.compile(r"\s(?:src=|href=(?!'data:))|url\(|<script")  # links to what is inside the page load nothing
_PACKAGES = ("pyspark", "deltalake", "confluent-kafka", "kafka-python")
_STYLE = f"""{REPORT_STYLE}{AUDIT_STYLE}
.pass {{ color: var(--good); font-weight: 600; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; font-size: .88rem; }}
dt {{ color: var(--soft); }} dd {{ margin: 0; }}
@media (min-width: 60.01rem) {{ .tiles {{ grid-template-columns: repeat(4, 1fr); }} }}
.band {{ fill: var(--band); }} .box {{ fill: var(--card); stroke: var(--soft); }} .grid {{ stroke: var(--line); }}
.path {{ stroke: var(--soft); stroke-dasharray: 5 5; }} .swapped {{ stroke: var(--warm); stroke-width: 2.5; }}
"""


def write_page(stage: Stage, figures: dict[str, Any]) -> Path:
    """Writes the page into the demo's folder."""
    page = stage.folder / "report.html"
    components = [*_header(stage, figures), *_pictures(stage), *_audit_trail(figures), *_checks(stage)]
    page.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>Signalbox demo</title>"
        f"<style>{_STYLE}</style>" + "\n".join(components) + "</html>\n",
        encoding="utf-8",
    )
    return page


def page_faults(page: Path, stage: Stage) -> list[str]:
    """The faults of the written page; empty if there are none."""
    text = page.read_text(encoding="utf-8")
    faults = [f"not shown: {check.claim}" for check in stage.checks if f">{escape(check.claim)}<" not in text]
    faults += [f"loaded from elsewhere: {reference.strip()}" for reference in _LOADED.findall(text)]
    if not text.endswith("</html>\n"):
        faults.append("the page is cut short")
    return faults


def _header(stage: Stage, figures: dict[str, Any]) -> list[str]:
    facts, totals, completeness = stage.facts, figures["totals"], figures["completeness"]
    produced = facts["produce"]
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    per_step = Counter(check.step for check in stage.checks)
    steps = [
        {"": PASSED, "step": step, "checks": per_step[step], "seconds": f"{seconds:.1f}"}
        for step, seconds in stage.seconds.items()
    ]
    return [
        "<h1>Signalbox: demo report</h1>",
        f"<p class='pass'>{PASSED} {counted(len(stage.checks), 'check')} passed, 0 failed</p>",
        "<p class='soft'>Three brokers, real clients, two swapped addresses, one killed controller, Spark tables.</p>",
        definitions(
            [
                ("Date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
                ("Signalbox", f"{__version__}, Python {platform.python_version()}"),
                ("Host", f"{platform.node()}: {platform.system()} {platform.release()}, {_processors()}"),
                ("Clients", versions),
                ("Pipeline", f"pipeline profile {facts.get('profile', 'unknown')}"),
            ]
        ),
        tiles(
            [
                (f"{produced['records']:,}", "flights acknowledged by all in-sync replicas"),
                (f"{produced['bytes'] / produced['seconds'] / 1e6:.0f} MB/s", "produced, replication factor 3"),
                (f"{facts['failover']['gap_s']:.2f} s", "longest silence around the killed controller"),
                (f"{totals['forwarded']:,}", "changes forwarded in an Envelope"),
                (f"{totals['rejected']:,}", "requests rejected"),
                (f"{totals['misrouted']:,}", "connections that reached the wrong node"),
                (f"{facts['misroute']['rebootstraps']:,}", "rebootstraps of our client"),
                (
                    f"{completeness['table_rows']:,}",
                    f"audit events in the table, {completeness['missing_events']:,} missing",
                ),
            ]
        ),
        *section("Steps", "A step with a mark did what it claims; the checks of each are listed at the end."),
        table(steps, ("", "step", "checks", "seconds")),
    ]


def _pictures(stage: Stage) -> list[str]:
    latency, misroute, failover = (stage.facts[name] for name in ("control_latency_ms", "misroute", "failover"))
    return [
        *section(
            "Control plane, idle and while one client produces",
            "Load on the data plane must not silence the control plane, so the controller's requests have connections"
            " and a queue of their own; these are round trips of ApiVersions there.",
        ),
        figure(quantile_dots(latency), latency_caption(latency)),
        f"<p class='soft'>{escape(recorded_caption())}</p>",
        table(recorded_rows()),
        *section(
            "Two swapped addresses",
            "A connection that reaches another node than the one meant is noticed before it can do harm.",
        ),
        figure(swap_picture(misroute["addresses"], int(misroute["rejected"])), swap_caption(misroute)),
        *section(
            "The controller is killed",
            "Leaders keep serving while the cluster has no controller, and another broker takes over.",
        ),
        figure(
            failover_timeline(failover["acknowledged_s"], failover["killed_s"], failover["killed"]),
            f"Records acknowledged by all in-sync replicas, per {BIN_S:g} s, around the kill; the shaded band is the"
            f" longest silence. Broker {failover['successor']} became the controller; all {failover['records']:,}"
            " records were acknowledged and are in the topic once.",
        ),
        *section("Flights per carrier", "Read back from the Delta table that Spark wrote: the data arrived whole."),
        figure(bars(stage.facts["carriers"]), "Departures from New York City in 2013."),
    ]


def _audit_trail(figures: dict[str, Any]) -> list[str]:
    meaning = "What the brokers recorded of all this, from the tables alone: the page of signalbox pipeline report."
    return [*section("Audit trail", meaning), *report_sections(figures)]


def _checks(stage: Stage) -> list[str]:
    rows = [{"": PASSED, "step": check.step, "claim": check.claim, "seen": check.seen} for check in stage.checks]
    meaning = "Each was compared while the demo ran; the first that fails would have ended it without a report."
    return [*section("Checks", meaning), table(rows, ("", "step", "claim", "seen"))]


def _processors() -> str:
    return counted(os.cpu_count() or 1, "processor")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
