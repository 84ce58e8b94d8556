"""A schema registry by confluent-kafka's client; `tests/pipeline/tables/test_format_plan.py` has a real one."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.pipeline.formats.registry import (
    Registry,
    RegistryError,
    RegistrySettings,
    split_frame,
    without_login,
)
from signalbox.pipeline.formats.schema_text import DecodeError, SchemaText
from signalbox.testing.free_ports import free_ports
from tests.pipeline.json_server import JsonHandler, served

PASS_WORDS = "Basic " + base64.b64encode(b"user:p@ss/word").decode()
RESPONSES: dict[str, Any] = {
    "/schemas/ids/1": {"schema": '"long"'},
    "/schemas/ids/2": {"schema": "{}", "schemaType": "JSON"},
    "/subjects/s-value/versions/latest": {
        "subject": "s-value",
        "version": 2,
        "id": 3,
        "schema": "outer",
        "references": [{"name": "Middle", "subject": "middle", "version": 1}],
    },
    "/subjects/middle/versions/1": {
        "subject": "middle",
        "version": 1,
        "id": 4,
        "schema": "middle",
        "references": [{"name": "Inner", "subject": "inner", "version": 7}],
    },
    "/subjects/inner/versions/7": {"subject": "inner", "version": 7, "id": 5, "schema": "inner"},
}


class _Responses(JsonHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/private") and self.headers["Authorization"] != PASS_WORDS:
            self.answer({"error_code": 401, "message": "Unauthorized"}, 401)
            return
        self.path = self.path.removeprefix("/private")
        response = RESPONSES.get(self.path.partition("?")[0])
        status = 500 if self.path.startswith("/schemas/ids/500") else 200 if response else 404
        self.answer(response or {"error_code": 40403, "message": "not found"}, status)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(_Responses) as address:
        yield address


@pytest.fixture
def registry(address: str) -> Registry:
    return Registry(RegistrySettings(address, {"max.retries": "0"}))


@pytest.mark.spec("P4")
def test_schemas_by_id_and_by_subject_with_their_references_inside_first(registry: Registry) -> None:
    assert registry.by_id(1, "AVRO") == SchemaText('"long"')
    assert registry.latest("s-value", "AVRO") == SchemaText("outer", (("Inner", "inner"), ("Middle", "middle")))


@pytest.mark.spec("P6")
def test_an_id_that_is_not_there_or_of_another_type_rejects_the_record(registry: Registry) -> None:
    with pytest.raises(DecodeError, match=r"^unknown_schema_id:9$"):
        registry.by_id(9, "AVRO")
    with pytest.raises(DecodeError, match=r"^schema_type:JSON_not_AVRO$"):
        registry.by_id(2, "AVRO")


def test_settings_that_the_client_does_not_take_are_an_error() -> None:
    for settings in (RegistrySettings("no url"), RegistrySettings("http://r", {"max.retries": "many"})):
        with pytest.raises(RegistryError, match=f"schema registry {settings.url}: a setting of its client is wrong"):
            Registry(settings)


def test_what_the_registry_cannot_answer_is_an_error(registry: Registry) -> None:
    with pytest.raises(RegistryError, match="has no subject none: name it with --value-subject"):
        registry.latest("none", "AVRO")
    with pytest.raises(RegistryError, match="has schemas of type AVRO, not PROTOBUF"):
        registry.latest("s-value", "PROTOBUF")
    with pytest.raises(RegistryError, match="schema id 500: not found"):
        registry.by_id(500, "AVRO")


@pytest.mark.spec("P4", "P6")
def test_the_frame_is_a_zero_byte_and_an_id() -> None:
    assert split_frame(b"\0\0\0\1\2rest") == (258, b"rest")
    for data in (b"", b"\0\0\0\0", b"\1\0\0\0\1x"):
        with pytest.raises(DecodeError, match="not_framed"):
            split_frame(data)


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("url", "clean", "login"),
    [
        ("http://r:8081/api", "http://r:8081/api", ""),
        ("https://user:p%40ss@r:8081/api?x=1", "https://r:8081/api?x=1", "user:p@ss"),
        ("http://user:p@ss/word@r", "http://r", "user:p@ss/word"),
        ("http://u:a,b@r1, http://u:a,b@r2/", "http://r1,http://r2/", "u:a,b"),
        ("user:word@r", "r", "user:word"),
        ("http://token@r", "http://r", "token"),
    ],
)
def test_a_login_is_taken_out_of_a_url(url: str, clean: str, login: str) -> None:
    assert without_login(url) == (clean, login)


@pytest.mark.spec("P9")
def test_a_login_in_the_url_is_used_and_not_printed(address: str) -> None:
    url = address.replace("http://", "http://user:p@ss/word@") + "/private"
    settings = RegistrySettings.of(url, {"max.retries": "0"})
    assert Registry(settings).by_id(1, "AVRO") == SchemaText('"long"')
    wrong = RegistrySettings.of(url.replace("p@ss", "pass"), {"max.retries": "0"})
    nowhere = f"http://user:p@ss/word@127.0.0.1:{free_ports(1)[0]}"
    for broken, text in (
        (wrong, "Unauthorized; give basic.auth.user.info in the file of --registry-config"),
        (RegistrySettings.of(nowhere, {"max.retries": "0"}), "cannot be reached"),
        (RegistrySettings.of(url, {"max.retries": "many"}), "a setting of its client is wrong"),
    ):
        with pytest.raises(RegistryError, match=text) as raised:
            Registry(broken).by_id(1, "AVRO")
        assert "word" not in f"{raised.value} {broken}"


@pytest.mark.spec("P9")
def test_a_login_of_the_options_takes_precedence() -> None:
    login = {"basic.auth.user.info": "a:b"}
    assert RegistrySettings.of("http://u:p@r", login) == RegistrySettings("http://r", login)
    assert RegistrySettings("http://r", {"timeout": "3"}).of_run("http://u:p@s", {}) == RegistrySettings(
        "http://s", {"basic.auth.user.info": "u:p", "timeout": "3"}
    )
