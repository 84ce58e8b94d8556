"""The report as one HTML page without scripts or other files: the picture of each listener, findings, connections.

On a narrow screen the rows of a table become cards, and the picture, too wide for it, a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from signalbox.common.report_style import REPORT_STYLE
from signalbox.doctor.finding import Finding, codes
from signalbox.doctor.observations import AddressObservation, Examination, ListenerObservation
from signalbox.doctor.report.picture import Arrow, picture
from signalbox.doctor.report.svg_picture import svg_picture
from signalbox.doctor.report.text_report import summary

_STYLE = f"""{REPORT_STYLE}
td[data-name=code] {{ overflow-wrap: normal; }}
.error {{ color: var(--warm); }} .unknown {{ color: var(--unsure); }} .notice {{ color: var(--soft); }}
svg {{ max-width: none; font: 12px monospace; }} svg + .narrow {{ display: none; }}
@media (max-width: 60rem) {{ svg {{ display: none; }} svg + .narrow {{ display: block; }} }}
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
