"""Observations as JSON, and back: for `--json` and `--compare`.

The reader is strict, because the file may come from elsewhere: a field that is missing has its default, a field of
another type is a ValueError that names it, and texts are made safe to print as those of the network are. The format is
documented in docs/doctor/json.md.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from types import GenericAlias
from typing import Any, get_args, get_origin, get_type_hints

from signalbox.doctor.finding import Finding, exit_status
from signalbox.doctor.observations import Examination
from signalbox.security.clean_text import clean_name

FORMAT = 1
_MAX_TEXT = 100_000
_NODE_ID = re.compile(r"-?[0-9]{1,10}")


def report_as_json(examination: Examination, findings: list[Finding]) -> str:
    """The whole report: format, exit status, findings, observations."""
    rows = [{"severity": finding.severity, **asdict(finding)} for finding in findings]
    report = {
        "format": FORMAT,
        "status": exit_status(findings),
        "findings": rows,
        "examination": asdict(examination),
    }
    return json.dumps(report, indent=2, ensure_ascii=True) + "\n"


def read_report(text: str) -> Examination:
    """The observations of a report. ValueError if it is none."""
    try:
        report = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise ValueError(f"it is no report of `signalbox doctor --json` of format {FORMAT}")
    result = _read(report.get("examination"), Examination, "examination")
    assert isinstance(result, Examination)
    return result


def _read(value: Any, wanted: Any, path: str) -> Any:
    origin = get_origin(wanted) if isinstance(wanted, GenericAlias) else wanted
    if is_dataclass(wanted):
        _require(isinstance(value, dict), path, "an object")
        return _read_fields(value, wanted, path)
    if origin is tuple:
        _require(isinstance(value, list), path, "a list")
        (item, _) = get_args(wanted)
        return tuple(_read(row, item, f"{path}[{index}]") for index, row in enumerate(value))
    if origin is dict:
        _require(isinstance(value, dict), path, "an object")
        (_, item) = get_args(wanted)
        return {_text(key): _read(row, item, f"{path}.{_text(key)}") for key, row in value.items()}
    if wanted is float:
        _require(isinstance(value, int | float) and not isinstance(value, bool), path, "a number")
        return _number(value, path)
    if wanted is int:
        _require(isinstance(value, int) and not isinstance(value, bool), path, "an integer")
        return value
    if wanted is bool:
        _require(isinstance(value, bool), path, "true or false")
        return value
    _require(isinstance(value, str), path, "a text")
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        _require(value in {member.value for member in wanted}, path, "one of the known values")
        return wanted(value)
    return _text(value)


def _read_fields(value: dict[str, Any], wanted: Any, path: str) -> Any:
    types = get_type_hints(wanted)
    present = [field.name for field in fields(wanted) if field.name in value]
    for key in value["brokers"] if isinstance(value.get("brokers"), dict) else ():
        _require(_NODE_ID.fullmatch(key) is not None, f"{path}.brokers.{_text(key)}", "named by a node id")
    try:
        return wanted(**{name: _read(value[name], types[name], f"{path}.{name}") for name in present})
    except TypeError as error:  # a field without a default is missing
        raise ValueError(f"{path}: {error}") from None


def _number(value: int | float, path: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{path} is not a number of any use") from None


def _text(value: str) -> str:
    return clean_name(value, _MAX_TEXT)


def _require(condition: bool, path: str, expected: str) -> None:
    if not condition:
        raise ValueError(f"{path} is not {expected}")
