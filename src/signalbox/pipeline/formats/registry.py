"""A schema registry, by confluent-kafka's client: a schema id's text, and the newest schema of a subject.

The framing of a value: a zero byte, the schema's id in four bytes, the content. Subjects are named by the topic unless
the options name others, which serves the other strategies too: a value is always decoded by the id that it carries.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from signalbox.pipeline.formats.schema_text import DecodeError, SchemaText

_HEADER = struct.Struct(">bI")
_NOT_FOUND = 404


class RegistryError(RuntimeError):
    """A schema registry that cannot be reached, or that has not what a run needs."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """`url`, and further settings of confluent-kafka's client (`basic.auth.user.info`, `ssl.ca.location`, ...)."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict)


def split_frame(data: bytes) -> tuple[int, bytes]:
    """The schema id and the content. Raises DecodeError: `not_framed`."""
    if len(data) < _HEADER.size:
        raise DecodeError("not_framed")
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != 0:
        raise DecodeError("not_framed")
    return schema_id, data[_HEADER.size :]


class Registry:
    """Requests to a schema registry."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        options = {key: float(text) if text.isdecimal() else text for key, text in settings.options.items()}
        try:
            self._client = SchemaRegistryClient({"url": settings.url, "max.retries": 2, "timeout": 10, **options})
        except (TypeError, ValueError) as error:
            raise RegistryError(f"schema registry {settings.url}: a setting of its client is wrong: {error}") from error

    def _ask(self, question: str, call: Any, *arguments: Any) -> Any:
        """The client's answer; None for what the registry does not have. Raises RegistryError."""
        try:
            return call(*arguments)
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            raise RegistryError(f"schema registry {self._settings.url}: {question}: {error.error_message}") from error
        except Exception as error:  # the client raises those of its HTTP library
            detail = str(error).strip() or type(error).__name__
            raise RegistryError(
                f"schema registry {self._settings.url} cannot be reached for {question}: {detail}"
            ) from error

    def by_id(self, schema_id: int, registry_type: str) -> SchemaText:
        """The schema with this id. Raises DecodeError if there is none or it has another type, RegistryError."""
        schema = self._ask(f"schema id {schema_id}", self._client.get_schema, schema_id)
        if schema is None:
            raise DecodeError(f"unknown_schema_id:{schema_id}")
        found = schema.schema_type or "AVRO"
        if found != registry_type:
            raise DecodeError(f"schema_type:{found}_not_{registry_type}")
        return self._with_references(schema)

    def latest(self, subject: str, registry_type: str) -> SchemaText:
        """The newest schema of a subject. Raises RegistryError."""
        version = self._ask(f"subject {subject}", self._client.get_latest_version, subject)
        if version is None:
            raise RegistryError(
                f"schema registry {self._settings.url} has no subject {subject}: name it with --value-subject or "
                "--key-subject"
            )
        found = version.schema.schema_type or "AVRO"
        if found != registry_type:
            raise RegistryError(f"subject {subject} has schemas of type {found}, not {registry_type}")
        return self._with_references(version.schema)

    def _with_references(self, schema: Any) -> SchemaText:
        collected: dict[str, str] = {}

        def collect(references: Any) -> None:
            for reference in references or ():
                if reference.name in collected:
                    continue
                subject, version = reference.subject, reference.version
                question = f"subject {subject} version {version}"
                registered = self._ask(question, self._client.get_version, subject, version)
                if registered is None:
                    raise RegistryError(f"schema registry {self._settings.url} has no {question}")
                collect(registered.schema.references)
                collected[reference.name] = registered.schema.schema_str

        collect(schema.references)
        return SchemaText(schema.schema_str, tuple(collected.items()))
