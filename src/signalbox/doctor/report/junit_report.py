"""The report as JUnit XML: a suite per bootstrap entry, a case per address and one for the listener as a whole.

Each check that could not be made is a skipped case.
"""

from __future__ import annotations

from xml.etree import ElementTree

from signalbox.doctor.finding import Finding, Severity
from signalbox.doctor.observations import AddressObservation, Examination

_ELEMENTS = {Severity.ERROR: "failure", Severity.UNKNOWN: "error"}
_WHOLE = "the listener as a whole"


def junit_report(examination: Examination, findings: list[Finding]) -> str:
    """A `testsuites` document."""
    root = ElementTree.Element("testsuites", name="signalbox doctor")
    for listener in examination.listeners:
        own = [row for row in findings if row.listener == listener.bootstrap]
        cases = [_case(_name(row), _of(own, row), row) for row in listener.addresses]
        named = {(row.address, row.node_id) for row in listener.addresses}
        rest = [finding for finding in own if (finding.address, finding.node_id) not in named]
        cases.append(_case(_WHOLE, rest, None))
        cases += [_skipped(reason) for reason in listener.view.skipped]
        _add_suite(root, listener.bootstrap, cases)
    general = [row for row in findings if not row.listener]
    _add_suite(root, "all listeners", [_case("all listeners", general, None)])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _name(row: AddressObservation) -> str:
    return f"{row.address} node {row.node_id}" if row.node_id >= 0 else f"{row.address} bootstrap"


def _of(findings: list[Finding], row: AddressObservation) -> list[Finding]:
    return [finding for finding in findings if (finding.address, finding.node_id) == (row.address, row.node_id)]


def _case(name: str, findings: list[Finding], row: AddressObservation | None) -> ElementTree.Element:
    seconds = sum(connection.total_ms for connection in row.connections) / 1000 if row is not None else 0.0
    case = ElementTree.Element("testcase", name=name, classname="signalbox.doctor", time=f"{seconds:.3f}")
    notices = []
    for finding in findings:
        element = _ELEMENTS.get(finding.severity)
        if element is None:
            notices.append(f"{finding.code}: {finding.text}")
            continue
        child = ElementTree.SubElement(case, element, type=finding.code, message=finding.text)
        child.text = f"change {finding.key} {f'to {finding.value}' if finding.value else ''}" if finding.key else ""
    if notices:
        ElementTree.SubElement(case, "system-out").text = "\n".join(notices)
    return case


def _skipped(reason: str) -> ElementTree.Element:
    case = _case(f"not checked: {reason}", [], None)
    ElementTree.SubElement(case, "skipped", message=reason)
    return case


def _add_suite(root: ElementTree.Element, name: str, cases: list[ElementTree.Element]) -> None:
    counts = {kind: sum(1 for case in cases if case.find(kind) is not None) for kind in ("failure", "error", "skipped")}
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
    )
    suite.extend(cases)
