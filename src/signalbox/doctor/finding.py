"""Findings: what is wrong, where, and which key to change. Codes are stable and documented, one page each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

_TABLE = "codes.toml"
PAGES = "docs/doctor"


class Severity(StrEnum):
    """ERROR: something is wrong. UNKNOWN: the doctor cannot tell. NOTICE: worth knowing."""

    ERROR = "error"
    UNKNOWN = "unknown"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCode:
    """A row of the table of codes. `key` is the configuration key to change, "" if there is none."""

    code: str
    title: str
    severity: Severity
    key: str
    means: str
    causes: str
    remedy: str

    @property
    def page(self) -> str:
        """The page of the documentation."""
        return f"{PAGES}/{self.code}.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. `listener` is the bootstrap entry, `address` is empty for findings about all of its addresses.
    `key` and `value`: what to change, to which value; empty where no configuration is wrong."""

    code: str
    text: str
    listener: str = ""
    address: str = ""
    node_id: int = -1
    key: str = ""
    value: str = ""

    @property
    def severity(self) -> Severity:
        return codes()[self.code].severity


@cache
def codes() -> Mapping[str, FindingCode]:
    """The table of codes, in the order of the documentation."""
    rows = tomllib.loads((files("signalbox.doctor") / _TABLE).read_text(encoding="utf-8"))
    return {
        code: FindingCode(code=code, **{**row, "severity": Severity(row["severity"])}) for code, row in rows.items()
    }


def exit_status(findings: Iterable[Finding]) -> int:
    """0: all right; 1: something is wrong; 2: nothing is known to be wrong, but the doctor cannot tell everything."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return 1
    return 2 if Severity.UNKNOWN in severities else 0
