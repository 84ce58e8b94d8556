"""A schema registry, by confluent-kafka's client: a schema id's text, and the newest schema of a subject.

The framing of a value: a zero byte, the schema's id in four bytes, the content. Subjects are named by the topic unless
the options name others, which serves the other strategies too: a value is always decoded by the id that it carries.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from signalbox.pipeline.formats.schema_text import DecodeError, SchemaText

_HEADER = struct.Struct(">bI")
_NOT_FOUND = 404
_LOGIN_NEEDED = (401, 403)
_NEXT_URL = re.compile(r",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://)")
_LOGIN = "basic.auth.user.info"
_SECRET_WORDS = ("auth", "password", "secret", "token", "key")  # in keys of options that are not stored


class RegistryError(RuntimeError):
    """A schema registry that cannot be reached, or that has not what a run needs."""


def without_login(url: str) -> tuple[str, str]:
    """A URL, or a list with commas, without user and password, and the first login as `user:password`, "" if none.

    The login reaches to the last @, since passwords are written into URLs without escaping, too.
    """
    urls, logins = [], []
    for text in _NEXT_URL.split(url.strip()):
        scheme, separator, rest = text.partition("://") if "://" in text else ("", "", text)
        login, _, address = rest.rpartition("@")
        urls.append(f"{scheme}{separator}{address}")
        logins.append(":".join(unquote(word) for word in login.split(":", 1)))
    return ",".join(urls), next(filter(None, logins), "")


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """`url`, and further settings of confluent-kafka's client (`basic.auth.user.info`, `ssl.ca.location`, ...).

    The URL is printed and stored, the options are not printed: `of` takes the login out of the URL.
    """

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain passwords

    @classmethod
    def of(cls, url: str, options: Mapping[str, str]) -> RegistrySettings:
        """The settings of a URL that may contain a login. That of the options takes precedence."""
        clean, login = without_login(url)
        return cls(clean, {_LOGIN: login, **options} if login else dict(options))

    def of_run(self, url: str | None, options: Mapping[str, str]) -> RegistrySettings:
        """Stored settings with the URL and the login of a run, if it names them."""
        return RegistrySettings.of(url or self.url, {**self.options, **options})

    def stored(self) -> RegistrySettings:
        """What may be written to the warehouse: no secrets, and no option with a login in a URL."""
        kept = {
            key: text
            for key, text in self.options.items()
            if not any(word in key for word in _SECRET_WORDS) and without_login(text)[1] == ""
        }
        return replace(self, url=without_login(self.url)[0], options=kept)


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
            remedy = (
                f"; give {_LOGIN} in the file of --registry-config" if error.http_status_code in _LOGIN_NEEDED else ""
            )
            raise RegistryError(
                f"schema registry {self._settings.url}: {question}: {error.error_message}{remedy}"
            ) from error
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
