"""Faults as text, for programs in any language: a name and its fields, `SwapAddresses one=1 other=2`.

Values are JSON where they can be (`first=3`, `over=1,2`), an address (`to=127.0.0.1:9092`), or text (`api=Produce`).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Any, get_args, get_type_hints

from signalbox.testing.faults import address_faults, broker_faults, identity_faults, request_faults, stream_faults
from signalbox.testing.faults.fault import Fault
from signalbox.testing.switchboard_line import Target

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
        stream_faults.ResetConnections,
        stream_faults.HalfOpen,
        request_faults.AnswerWithError,
        request_faults.DelayResponse,
        request_faults.Throttle,
        request_faults.StallResponse,
        request_faults.DropRequest,
        request_faults.CutBeforeRequest,
        request_faults.CutAfterRequest,
        identity_faults.WrongNode,
        identity_faults.WrongCluster,
        identity_faults.CapApiVersions,
        identity_faults.CapVersions,
        identity_faults.RewriteMetadata,
        broker_faults.MoveLeader,
        broker_faults.MoveCoordinator,
        broker_faults.FenceProducer,
    )
}
"""Every fault by its name."""

_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Target: "host:port",
    Sequence[int]: "a list of numbers, as 1,2",
    Mapping[int, Target]: 'addresses by node id, as {"1": ["host", 9092]}',
}


def parse_fault(text: str) -> Fault:
    """The fault that `text` names; ValueError says what is wrong with it."""
    name, *pairs = shlex.split(text) or [""]
    values = {}
    for key, equals, value in (pair.partition("=") for pair in pairs):
        if not equals:
            raise ValueError(f"{name} has fields as name=value, not {key!r}")
        values[key] = value
    return fault_of(name, values)


def fault_of(name: str, values: Mapping[str, str]) -> Fault:
    """The fault with these fields, whose values are texts; ValueError says what is wrong with it."""
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
    kinds = get_type_hints(FAULTS[name])
    allowed = {each.name for each in fields(FAULTS[name])}
    for key in values:
        if key not in allowed:
            raise ValueError(f"{name} has the fields {', '.join(sorted(allowed))}, not {key!r}")
    try:
        fault: Fault = FAULTS[name](**{key: _value(key, text, kinds[key]) for key, text in values.items()})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None
    return fault


def text_of(fault: Fault) -> str:
    """The text of a fault, without the fields that have their defaults."""
    declared: Any = fault
    values = {each.name: getattr(fault, each.name) for each in fields(declared)}
    given = [f"{each.name}={_shown(values[each.name])}" for each in fields(declared) if _differs(each, values)]
    return shlex.join([type(fault).__name__, *given])


def _differs(each: Field[Any], values: Mapping[str, Any]) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return bool(values[each.name] != default)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return f"{value[0]}:{value[1]}"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return json.dumps(value, separators=(",", ":"))


def _value(key: str, text: str, kind: Any) -> Any:
    """The value of a field; ValueError if it is not of its kind."""
    kinds = set(get_args(kind)) if isinstance(kind, UnionType) else {kind}
    if type(None) in kinds and text == "null":
        return None
    if str in kinds:
        return text
    if type(None) in kinds and text == "all":
        return None
    value = _parsed(text if Sequence[int] not in kinds or text.startswith("[") else f"[{text}]")
    if kinds & _NAMES.keys() and not any(_is(value, each) for each in kinds):
        names = [_NAMES[each] for each in _NAMES if each in kinds]
        raise ValueError(f"{key} is {' or '.join(names)}, not {text!r}")
    return value


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool)
    if kind == Target:
        return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and _is(value[1], int)
    if kind == Sequence[int]:
        return isinstance(value, tuple) and all(_is(each, int) for each in value)
    return isinstance(value, dict) and all(_is(key, int) and _is(each, Target) for key, each in value.items())


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        host, colon, port = text.rpartition(":")
        return (host, int(port)) if colon and port.isdigit() else text
    if isinstance(value, dict):  # node ids are keys, and keys of JSON are text
        return {_parsed(key): tuple(each) if isinstance(each, list) else each for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value
