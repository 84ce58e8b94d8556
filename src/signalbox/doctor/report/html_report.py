"""The report as one HTML page without scripts or other files: the picture of each listener, findings, connections."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from signalbox.doctor.finding import Finding, codes
from signalbox.doctor.observations import AddressObservation, Examination, ListenerObservation
from signalbox.doctor.report.picture import picture
from signalbox.doctor.report.svg_picture import svg_picture
from signalbox.doctor.report.text_report import summary

_STYLE = """body{font:14px sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse;margin:1em 0}
td,th{border:1px solid #ccc;padding:4px 8px;text-align:left;vertical-align:top}.error{color:#c0392b}
.unknown{color:#9a6700}.notice{color:#555}svg{max-width:100%}"""
_CONNECTIONS = ("address", "node", "IP", "stage", "fault", "responds", "cluster", "proof", "ApiVersions", "ms", "text")


def html_report(examination: Examination, findings: list[Finding]) -> str:
    """A complete document."""
    line = summary(examination, findings)
    sections = "".join(_listener(listener, findings) for listener in examination.listeners)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>signalbox doctor</title>'
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
        f"{svg_picture(picture(listener, findings))}{skipped}{table if certificates else ''}"
        f"<details><summary>Connections</summary>{_table(_CONNECTIONS, connections)}</details>"
    )


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
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
