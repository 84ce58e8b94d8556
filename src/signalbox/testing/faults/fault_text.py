"""Faults as text, for programs in any language: a name and its fields, `SwapAddresses one=1 other=2`.

Values are JSON where they can be (`first=3`, `over=[1,2]`), an address (`to=127.0.0.1:9092`), or text (`api=Produce`).
"""

from __future__ import annotations

import json
import shlex
from dataclasses import fields
from typing import Any

from signalbox.testing.faults import address_faults, identity_faults, request_faults, stream_faults
from signalbox.testing.faults.fault import Fault

FAULTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        address_faults.SwapAddresses,
        address_faults.SendElsewhere,
        address_faults.BalanceAddress,
        address_faults.RefuseConnections,
        stream_faults.Stall,
        stream_faults.DropResponses,
        stream_faults.Delay,
        stream_faults.CutAfterBytes,
        request_faults.AnswerWithError,
        request_faults.DelayResponse,
        request_faults.StallResponse,
        request_faults.DropRequest,
        request_faults.CutBeforeRequest,
        request_faults.CutAfterRequest,
        identity_faults.WrongNode,
        identity_faults.WrongCluster,
        identity_faults.CapApiVersions,
        identity_faults.RewriteMetadata,
    )
}
"""Every fault by its name."""


def parse_fault(text: str) -> Fault:
    """The fault that `text` names; ValueError says what is wrong with it."""
    name, *pairs = shlex.split(text) or [""]
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    allowed = {each.name for each in fields(FAULTS[name])}
    values = {}
    for key, equals, value in (pair.partition("=") for pair in pairs):
        if not equals or key not in allowed:
            raise ValueError(f"{name} has the fields {', '.join(sorted(allowed))}, not {key!r}")
        values[key] = _value(value)
    try:
        fault: Fault = FAULTS[name](**values)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None
    return fault


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        host, colon, port = text.rpartition(":")
        return (host, int(port)) if colon and port.isdigit() else text
    if isinstance(value, dict):  # node ids are keys, and keys of JSON are text
        return {int(key): tuple(each) if isinstance(each, list) else each for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value
