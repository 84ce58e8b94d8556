"""The report as one HTML page without scripts or other files: the picture of each listener, findings, connections.

On a narrow screen the rows of a table become cards, and the picture, too wide for it, a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from signalbox.doctor.finding import Finding, codes
from signalbox.doctor.observations import AddressObservation, Examination, ListenerObservation
from signalbox.doctor.report.picture import Arrow, picture
from signalbox.doctor.report.svg_picture import svg_picture
from signalbox.doctor.report.text_report import summary

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6571;--line:#ccd2d9;--paper:#fff;--card:#fff;--good:#24713f;
--bad:#b3261e;--unknown:#8a5a00}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#a3adb9;--line:#39414c;--paper:#14181d;--card:#1d232b;
--good:#6cc58b;--bad:#ff8a7d;--unknown:#e0b050}}
body{font:14px/1.4 sans-serif;margin:2em;max-width:75em;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
table{border-collapse:collapse;margin:1em 0;max-width:100%}
td,th{border:1px solid var(--line);padding:4px 8px;text-align:left;vertical-align:top}th{overflow-wrap:normal}
.error{color:var(--bad)}.unknown{color:var(--unknown)}.notice{color:var(--soft)}svg{max-width:100%;height:auto}
.narrow{display:none}
@media (max-width:60em){body{margin:1em}svg{display:none}.narrow{display:block}
table,tbody,tr,td{display:block}tr.head{display:none}tr{border:1px solid var(--line);margin:0 0 .5em}
td{border:0;padding:1px 8px;display:grid;grid-template-columns:7em 1fr;gap:.6em}
td::before{content:attr(data-name);color:var(--soft)}}
"""
_CONNECTIONS = ("address", "node", "IP", "stage", "fault", "responds", "cluster", "proof", "ApiVersions", "ms", "text")


def html_report(examination: Examination, findings: list[Finding]) -> str:
    """A complete document."""
    line = summary(examination, findings)
    sections = "".join(_listener(listener, findings) for listener in examination.listeners)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>signalbox doctor</title>'
        f"<style>{_STYLE}</style></head><body><h1>signalbox doctor</h1>"
        f"<p>{escape(examination.started)}. {escape(line)}</p>{_findings(findings)}{sections}</body></html>\n"
    )


def _findings(findings: list[Finding]) -> str:
    if not findings:
        return ""
    rows = [
        (
            f'<span class="{row.severity}">{row.severity}</span>',
            f'<b title="{escape(codes()[row.code].title)}">{row.code}</b>',
            escape(row.text),
            escape(f"{row.key} = {row.value}" if row.key and row.value else row.key),
            escape(codes()[row.code].remedy),
        )
        for row in findings
    ]
    return "<h2>Findings</h2>" + _table(("severity", "code", "what", "key", "remedy"), rows)


def _listener(listener: ListenerObservation, findings: list[Finding]) -> str:
    title = f"{listener.bootstrap} ({listener.protocol} {listener.mechanism})".replace(" )", ")")
    skipped = "".join(f"<p>Not checked: {escape(reason)}</p>" for reason in listener.view.skipped)
    connections = [row for address in listener.addresses for row in _connections(address)]
    certificates = [
        tuple(
            map(
                escape,
                (
                    row.address,
                    ip,
                    one.subject,
                    one.issuer,
                    ", ".join(one.names),
                    one.not_before,
                    one.not_after,
                    one.sha256,
                ),
            )
        )
        for row in listener.addresses
        for ip, one in row.certificates.items()
    ]
    table = _table(("address", "IP", "subject", "issuer", "names", "from", "until", "SHA-256"), certificates)
    return (
        f"<h2>{escape(title)}</h2><p>Cluster {escape(listener.view.cluster_id or '?')}</p>"
        f"{_picture(picture(listener, findings))}{skipped}{table if certificates else ''}"
        f"<details><summary>Connections</summary>{_table(_CONNECTIONS, connections)}</details>"
    )


def _picture(arrows: list[Arrow]) -> str:
    """The drawing, and the same as a table for narrow screens."""
    rows = [
        tuple(
            f'<span class="error">{escape(text)}</span>' if arrow.wrong else escape(text)
            for text in (f"{arrow.address} ({arrow.role})", arrow.ip, arrow.node)
        )
        for arrow in arrows
    ]
    return f'{svg_picture(arrows)}<div class="narrow">{_table(("name", "IP", "node"), rows)}</div>'


def _connections(row: AddressObservation) -> Iterable[tuple[str, ...]]:
    for one in row.connections:
        cells = (
            row.address,
            str(row.node_id) if row.node_id >= 0 else "",
            one.ip,
            one.stage,
            one.fault.value,
            str(one.node_id) if one.node_id >= 0 else "",
            one.cluster_id,
            one.grade.value,
            str(one.api_versions_max) if one.api_versions_max >= 0 else "",
            f"{one.total_ms:.1f}",
            one.text,
        )
        yield tuple(map(escape, cells))


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML."""
    names = [escape(title) for title in titles]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in zip(names, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<table><tr class="head">{head}</tr>{body}</table>'
