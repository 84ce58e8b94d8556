"""The report for a terminal."""

from __future__ import annotations

from signalbox.doctor.finding import Finding, Severity, codes
from signalbox.doctor.observations import Certificate, Examination, ListenerObservation
from signalbox.doctor.report.picture import Arrow, picture

_MARKS = {True: "!!", False: "ok"}


def text_report(examination: Examination, findings: list[Finding]) -> list[str]:
    """The lines of the report: the picture of each listener, then the findings, then one line of summary."""
    lines: list[str] = []
    for listener in examination.listeners:
        lines += [*_listener(listener, findings), ""]
    for finding in findings:
        lines += _finding(finding)
    if findings:
        lines.append("")
    return [*lines, summary(examination, findings)]


def summary(examination: Examination, findings: list[Finding]) -> str:
    """One line: how many findings of each kind, and how long it took."""
    counts = {severity: sum(1 for row in findings if row.severity == severity) for severity in Severity}
    addresses = sum(len(listener.addresses) for listener in examination.listeners)
    errors, unknown, notices = counts[Severity.ERROR], counts[Severity.UNKNOWN], counts[Severity.NOTICE]
    words = f"{errors} wrong, {unknown} unknown, {notices} to know"
    state = "all right" if not errors and not unknown else words
    if state != words and notices:
        state = f"all right, {notices} to know"
    return f"{addresses} address{'' if addresses == 1 else 'es'} in {examination.duration_ms / 1000:.1f} s: {state}"


def _listener(listener: ListenerObservation, findings: list[Finding]) -> list[str]:
    security = f"{listener.protocol} {listener.mechanism}".strip()
    view = listener.view
    cluster = f"cluster {view.cluster_id or '?'}, {len(view.brokers)} nodes" if view.brokers else "no Metadata"
    lines = [f"{listener.bootstrap} ({security}): {cluster}"]
    arrows = picture(listener, findings)
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*map(_cells, arrows), strict=True)]
    for arrow in arrows:
        cells = [cell.ljust(width) for cell, width in zip(_cells(arrow), widths, strict=True)]
        lines.append(
            f"  {_MARKS[arrow.wrong]}  {cells[0]}  {cells[1]} -> {cells[2]} -> {cells[3]}  {cells[4]}".rstrip()
        )
    for row in listener.addresses:
        for ip, certificate in row.certificates.items():
            lines.append(f"  certificate of {row.address} ({ip}): {_certificate(certificate)}")
    lines += _coordinators(listener)
    lines += [f"  not checked: {reason}" for reason in view.skipped]
    return lines


def _coordinators(listener: ListenerObservation) -> list[str]:
    """The coordinators of the groups and transactional ids that were asked for by name."""
    rows = [row for row in listener.view.endpoints if row.key and not row.error]
    texts = [f"  coordinator of {row.key}: node {row.node_id} at {row.address}" for row in rows]
    return list(dict.fromkeys(texts))


def _cells(arrow: Arrow) -> tuple[str, ...]:
    count = f", {arrow.count} of {arrow.total} connections" if arrow.total else ""
    time = f", {arrow.ms:.1f} ms" if arrow.total else ""
    return arrow.address, arrow.role, arrow.ip, arrow.node, f"{arrow.detail}{count}{time}"


def _certificate(certificate: Certificate) -> str:
    if not certificate.not_after:
        return f"SHA-256 {certificate.sha256}"
    names = ", ".join(certificate.names) or "no names"
    return f"{certificate.subject}; {names}; until {certificate.not_after}; SHA-256 {certificate.sha256[:16]}"


def _finding(finding: Finding) -> list[str]:
    lines = [f"{finding.severity}: {finding.code}: {finding.text}"]
    if finding.key:
        lines.append(f"    change {finding.key}{f' to {finding.value}' if finding.value else ''}")
    lines.append(f"    {codes()[finding.code].remedy} ({codes()[finding.code].page})")
    return lines
