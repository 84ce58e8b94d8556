"""The subject of a certificate as text, the way Java prints it: what Kafka makes the principal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "domainComponent": "DC",
    "streetAddress": "STREET",
    "userId": "UID",
}


def distinguished_name(certificate: Mapping[str, Any]) -> str:
    """Most specific part first, comma-separated (RFC 2253); `certificate` in the shape of `SSLSocket.getpeercert()`."""
    parts = []
    for relative_name in reversed(certificate.get("subject", ())):
        parts.append("+".join(f"{_SHORT.get(kind, kind)}={_escape(value)}" for kind, value in relative_name))
    return ",".join(parts)


def _escape(value: str) -> str:
    escaped = "".join("\\" + char if char in ',+"\\<>;' else char for char in value)
    return "\\" + escaped if escaped.startswith(("#", " ")) else escaped
