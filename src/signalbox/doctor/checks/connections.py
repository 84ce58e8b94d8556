"""Addresses where no node can be asked: names, networks, TLS, SASL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from signalbox.doctor.checks.about import about, address_of_node, ip_of, name_of
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, ConnectionObservation, Fault, ListenerObservation

CODES: Mapping[Fault, str] = {
    Fault.CONNECTION_REFUSED: "CONNECTION_REFUSED",
    Fault.NO_ROUTE: "NO_ROUTE",
    Fault.TIMEOUT: "NO_RESPONSE",
    Fault.CLOSED: "CONNECTION_CLOSED",
    Fault.TLS_EXPECTED: "TLS_EXPECTED",
    Fault.TLS_MISSING: "TLS_MISSING",
    Fault.TLS_HANDSHAKE: "TLS_HANDSHAKE",
    Fault.CERTIFICATE_UNTRUSTED: "CERTIFICATE_UNTRUSTED",
    Fault.CERTIFICATE_EXPIRED: "CERTIFICATE_EXPIRED",
    Fault.CERTIFICATE_NAME: "CERTIFICATE_NAME",
    Fault.CLIENT_CERTIFICATE: "CLIENT_CERTIFICATE",
    Fault.SASL_EXPECTED: "SASL_EXPECTED",
    Fault.SASL_MISSING: "SASL_MISSING",
    Fault.SASL_MECHANISM: "SASL_MECHANISM",
    Fault.AUTHENTICATION: "AUTHENTICATION",
    Fault.TOKEN: "TOKEN",
    Fault.ALWAYS_REJECTED: "ALWAYS_REJECTED",
    Fault.HTTP: "NOT_KAFKA",
    Fault.NOT_KAFKA: "NOT_KAFKA",
    Fault.VERSIONS: "VERSIONS",
}
_NETWORK = (Fault.CONNECTION_REFUSED, Fault.NO_ROUTE, Fault.TIMEOUT)


def check_names(listener: ListenerObservation) -> Iterator[Finding]:
    """Names without an address, addresses without a result."""
    for row in listener.addresses:
        if row.resolve_text:
            text = f"{row.host} cannot be resolved: {row.resolve_text}"
            yield about("UNRESOLVED", listener, row, text, _known_address(listener, row))
        elif not row.examined and 0 < row.port < 65_536:
            yield about("NOT_EXAMINED", listener, row, f"{row.address} was not examined")


def check_connections(listener: ListenerObservation) -> Iterator[Finding]:
    """One finding per address and fault."""
    for row in listener.addresses:
        failed = [connection for connection in row.connections if not connection.usable]
        if not failed:
            continue
        if _is_wrong_family(listener, row):
            yield about("WRONG_FAMILY", listener, row, f"{row.host} has only {', '.join(row.ips)}: no route")
            continue
        dead = _dead_ips(row)
        if dead and len(dead) < len(row.ips):
            yield _some_ips(listener, row, failed, dead)
            failed = [connection for connection in failed if connection.ip not in dead]
        for fault in dict.fromkeys(connection.fault for connection in failed):
            same = [connection for connection in failed if connection.fault == fault]
            if code := _code_of(row, fault):
                yield about(code, listener, row, _text(row, same), _value(listener, row, same[0]))


def check_reachable(listener: ListenerObservation) -> Iterator[Finding]:
    """The typical picture of wrong advertised listeners: the bootstrap server works, and nothing in its Metadata."""
    seeds = [row for row in listener.seeds if row.usable and row.node_id < 0]
    advertised = listener.advertised
    if seeds and advertised and not any(row.usable for row in advertised):
        addresses = ", ".join(row.address for row in advertised[:5])
        text = f"{seeds[0].address} works, but none of the advertised addresses does: {addresses}"
        yield about("BROKERS_UNREACHABLE", listener, None, text)


def _text(row: AddressObservation, same: list[ConnectionObservation]) -> str:
    count = "" if len(same) == len(row.connections) else f" ({len(same)} of {len(row.connections)} connections)"
    detail = f": {same[0].text}" if same[0].text else ""
    return f"{name_of(row)} at {row.address}{count}{detail}"


def _code_of(row: AddressObservation, fault: Fault) -> str:
    """The code of a fault; "" where the check of certificates says it better."""
    if fault == Fault.CERTIFICATE_EXPIRED or (fault == Fault.CERTIFICATE_NAME and row.certificates):
        return ""
    return CODES[fault]


def _value(listener: ListenerObservation, row: AddressObservation, connection: ConnectionObservation) -> str:
    """What the key should be, where that can be known."""
    sasl, tls = listener.protocol.startswith("SASL"), listener.protocol.endswith("SSL")
    fault = connection.fault
    if fault in _NETWORK:
        return _known_address(listener, row)
    if fault == Fault.TLS_EXPECTED:
        return "SASL_SSL" if sasl else "SSL"
    if fault == Fault.TLS_MISSING:
        return "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
    if fault == Fault.SASL_EXPECTED:
        return "SASL_SSL" if tls else "SASL_PLAINTEXT"
    if fault == Fault.SASL_MISSING:
        return "SSL" if tls else "PLAINTEXT"
    return ", ".join(connection.sasl_mechanisms) if fault == Fault.SASL_MECHANISM else ""


def _known_address(listener: ListenerObservation, row: AddressObservation) -> str:
    return address_of_node(listener, row.node_id) if row.node_id >= 0 else ""


def _dead_ips(row: AddressObservation) -> set[str]:
    usable = {connection.ip for connection in row.usable}
    return {connection.ip for connection in row.connections} - usable


def _some_ips(
    listener: ListenerObservation, row: AddressObservation, failed: list[ConnectionObservation], dead: set[str]
) -> Finding:
    living = {connection.ip for connection in row.usable}
    families = {":" in ip for ip in dead}, {":" in ip for ip in living}
    network = all(connection.fault in _NETWORK for connection in failed if connection.ip in dead)
    by_family = network and families[0] != families[1] and len(families[0]) == len(families[1]) == 1
    code = "FAMILY_FAILS" if by_family else "SOME_IPS_FAIL"
    reason = next(connection.text for connection in failed if connection.ip in dead)
    text = f"{row.host}: {', '.join(sorted(dead))} fails ({reason}), {', '.join(sorted(living))} works"
    return about(code, listener, row, text)


def _is_wrong_family(listener: ListenerObservation, row: AddressObservation) -> bool:
    """Whether all IPs are of one family without a route, and the other family works elsewhere."""
    if row.usable or not row.ips or any(connection.fault != Fault.NO_ROUTE for connection in row.connections):
        return False
    versions = {ip.version for ip in map(ip_of, row.ips) if ip is not None}
    working = {
        ip.version
        for other in listener.addresses
        for ip in (ip_of(connection.ip) for connection in other.usable)
        if ip is not None
    }
    return len(versions) == 1 and bool(working) and versions.isdisjoint(working)
