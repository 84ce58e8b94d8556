"""A question: an API, its body as plain data, and the values of its response that later questions need."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.message import Message, Struct
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.schema import FieldSpec, MessageSpec

Body = Mapping[str, Any]
_TIMESTAMP_MS = time.time_ns() // 1_000_000
NEW_CONNECTION, AFTER_HANDSHAKE = "(new connection)", "(after a handshake)"


def password_of(user: str) -> str:
    """The password of a user of the SASL listeners."""
    return f"{user}-secret"


@dataclass(frozen=True, slots=True)
class TransactionalBatch:
    """A batch of one record of the producer whose id and epoch earlier responses had ("pid", "epoch")."""

    sequence: int = 0
    epochs_ahead: int = 0
    is_control: bool = False

    def encoded(self, values: Mapping[str, Any]) -> bytes:
        return encode_batch(
            [Record(timestamp=_TIMESTAMP_MS, key=b"k", value=b"in a transaction")],
            producer_id=values["pid"],
            producer_epoch=values["epoch"] + self.epochs_ahead,
            base_sequence=self.sequence,
            transactional=True,
            control=self.is_control,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """Sent at the lowest and the highest version that both sides list, or at `versions`.

    Fields of the body that a version lacks are left out. In the body "{v}" inside a text is the version, and a text
    "$name" is a value of an earlier response: `keep` names such values by their path in the response. `raw` is a
    body as bytes, for bodies that cannot be encoded.

    `user`: sent at the SASL listener, on a connection that is logged in as this user; NEW_CONNECTION: on one of its
    own, not logged in; AFTER_HANDSHAKE: on one of its own after SaslHandshake 1 for PLAIN. `client_id` replaces the
    connection's, as bytes.
    """

    api: ApiKey
    what: str
    body: Body = field(default_factory=dict)
    versions: tuple[int, ...] = ()
    keep: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    user: str = ""
    client_id: bytes | None = None

    def label(self, version: int) -> str:
        """Its name in reports."""
        return f"{API_TABLE[self.api].name} v{version}: {self.what}"


def body_bytes(question: Question, version: int, values: Mapping[str, Any]) -> bytes:
    """The question's body at one version, with values from earlier responses of this side."""
    if question.raw is not None:
        return question.raw
    made = API_TABLE[question.api].request
    message: Message = made(**_fields(made, made.schema, made.schema.root.fields, question.body, version, values))
    return message.encode(version)


def kept_values(question: Question, answer: Any) -> dict[str, Any]:
    """The values that `keep` names in a decoded response; a path that does not exist is left out."""
    found = {}
    for name, path in question.keep.items():
        value = answer
        try:
            for step in path.split("."):
                value = value[int(step)] if step.isdigit() else getattr(value, step)
        except IndexError:
            continue
        found[name] = value
    return found


def _fields(
    made: Any, schema: MessageSpec, specs: tuple[FieldSpec, ...], body: Body, version: int, values: Mapping[str, Any]
) -> dict[str, Any]:
    by_name = {spec.attribute: spec for spec in specs}
    return {
        name: _value(made, schema, by_name[name], _filled(value, version, values), version, values)
        for name, value in body.items()
        if version in by_name[name].versions
    }


def _value(made: Any, schema: MessageSpec, spec: FieldSpec, value: Any, version: int, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_value(made, schema, spec, _filled(each, version, values), version, values) for each in value]
    if not isinstance(value, Mapping):
        return value
    struct: type[Struct] = getattr(made, spec.type_name)
    return struct(**_fields(made, schema, schema.structs[spec.type_name].fields, value, version, values))


def _filled(value: Any, version: int, values: Mapping[str, Any]) -> Any:
    if isinstance(value, TransactionalBatch):
        return value.encoded(values)
    if not isinstance(value, str):
        return value
    if value.startswith("$"):
        return values[value[1:]]
    return value.replace("{v}", str(version))
