from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.security.jaas import JaasError, JaasFile, parse_jaas_config, parse_jaas_file

FILE = """
// what Kafka's own documentation shows
KafkaServer {
    org.apache.kafka.common.security.scram.ScramLoginModule required
        username="admin"
        password="admin-secret";
    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="admin" password="a \\"quoted\\" \\\\ one"
        user_admin="x" user_alice = "y;{}=" ;
};
/* another
   listener */
clients.KafkaServer {
    # a comment of the other kind
    org.apache.kafka.common.security.plain.PlainLoginModule sufficient user_bob=z debug=true;
};
KafkaClient { };
"""


def test_a_file() -> None:
    sections = parse_jaas_file(FILE)
    assert list(sections) == ["KafkaServer", "clients.KafkaServer", "KafkaClient"]
    scram, plain = sections["KafkaServer"]
    assert scram.mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert dict(plain.options)["password"] == 'a "quoted" \\ one'
    assert plain.users == {"admin": "x", "alice": "y;{}="}
    assert sections["clients.KafkaServer"][0].flag == "sufficient"
    assert sections["KafkaClient"] == ()


@pytest.mark.parametrize(
    ("quoted", "meant"),
    [
        (r'"a\\nb\\tc"', "a\nb\tc"),
        (r'"\\a\\b\\f\\r\\v"', "\a\b\f\r\v"),
        (r'"\\101\\0\\778\\x"', "A\0?8x"),
        (r"""'it "is" so'""", 'it "is" so'),
        (r"""'it\\'s'""", "it's"),
        ('"${not.put.in}"', "${not.put.in}"),
        ("a#b/c:d", "a#b/c:d"),
    ],
)
def test_quotes_and_escapes_are_javas(quoted: str, meant: str) -> None:
    assert parse_jaas_config(f"A required password={quoted.replace(chr(92) * 2, chr(92))};").options == {
        "password": meant
    }


def test_where_a_listener_finds_its_module() -> None:
    file = JaasFile(parse_jaas_file(FILE))
    clients = file.server_module("CLIENTS", "PLAIN")
    assert clients is not None
    assert clients.users == {"bob": "z"}
    # the listener's section exists, so the general one is ignored, even for another mechanism
    assert file.server_module("CLIENTS", "SCRAM-SHA-256") is None
    others = file.server_module("INTERNAL", "SCRAM-SHA-512")
    assert others is not None
    assert others.options["username"] == "admin"
    assert JaasFile({}).server_module("CLIENTS", "PLAIN") is None


def test_one_module_in_a_configuration_value() -> None:
    module = parse_jaas_config("x.y.Module Required a=b;")
    assert (module.name, module.flag, module.options, module.mechanisms) == ("x.y.Module", "required", {"a": "b"}, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains 0 login modules, should be 1 module"),
        ("A required; B required;", "contains 2 login modules"),
        ("A required", "at the end of the text"),
        ("A maybe;", "the second word, in line 1, is no control flag"),
        ("A required user;", "expected '='"),
        ("A required user=;", "expected an option's value"),
        ('A required user="open;', "line 1 holds an unclosed quote"),
        ("com.sun.security.auth.module.JndiLoginModule required;", "is not allowed"),
        ("com.sun.security.auth.module.LdapLoginModule required;", "is not allowed"),
        ("{", "expected the class of a login module"),
    ],
)
def test_values_that_are_none(text: str, message: str) -> None:
    with pytest.raises(JaasError, match=message.replace("(", r"\(")):
        parse_jaas_config(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A { };\nA { };", "the section A is given twice"),
        ("A {\n x required;\n}", "section A: .*at the end of the text"),
        ("KafkaServer {\n x required\n  user;\n};", "section KafkaServer: expected '=' instead of ';' in line 3"),
        ("c.KafkaServer {\n x required a='b\n';\n};", "line 2 holds an unclosed quote"),
        ("A x required;", "expected '{'"),
        ("/* open", "unclosed"),
    ],
)
def test_files_that_are_none(text: str, message: str) -> None:
    with pytest.raises(JaasError, match=message):
        parse_jaas_file(text)


@pytest.mark.parametrize(
    "text",
    [
        'A required "hunter2" "hunter2";',
        "A required password hunter2;",
        "A required password=x=hunter2;",
        "A required password=x hunter2;",
        "A hunter2;",
        "hunter2",
        "A required hunter2=;",
    ],
)
def test_a_password_is_never_in_a_message(text: str) -> None:
    with pytest.raises(JaasError) as raised:
        parse_jaas_config(text)
    assert "hunter2" not in str(raised.value)


@given(st.text('AB {};="\\/*# \nuser_required', max_size=60))
def test_no_text_does_worse_than_be_rejected(text: str) -> None:
    try:
        sections = parse_jaas_file(text)
    except JaasError:
        return
    assert isinstance(sections, dict)
