"""The expected names are the output of Java, with Kafka's own steps around its regular expressions."""

from __future__ import annotations

import pytest

from signalbox.security.principal_mapping import NoMatchingRule, parse_principal_mapping


@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", "CN=a,O=x", "CN=a,O=x"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=kafka1,OU=ServiceUsers,O=x", "kafka1"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1@svc/L,DEFAULT", "CN=Kafka1,OU=ServiceUsers,O=x", "kafka1@svc"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1@svc/L , DEFAULT", "CN=Kafka1,OU=x", "CN=Kafka1,OU=x"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "O=x,cn=duke", "DUKE"),
        ("RULE:CN=a/first/,RULE:CN=.*/second/", "CN=a", "first"),
        ("RULE:CN=a/first/,RULE:CN=.*/second/", "CN=ab", "second"),
        (r"RULE:CN=(.*?)\/(.*)/$1\/$2/", "CN=a/b", "a/b"),
        ("RULE:(a)(b)/$2$1$3/", "ab", "ba$3"),
        ("RULE:(a)/$12/", "a", "a2"),
        ("RULE:(a)/$0-$01/", "a", "a-a"),
        ("RULE:.*/x/", "abc", "xx"),
        ("RULE:(?<n>a)b/${n}!/", "ab", "a!"),
        (r"RULE:(a)b/\$1\\/", "ab", "$1\\"),
        ("RULE:(a)|b/[$1]/", "b", "[]"),
        ("RULE:a//", "a", ""),
        (" , ,DEFAULT, ", "CN=a", "CN=a"),
    ],
)
def test_the_first_rule_that_matches_decides(rules: str, name: str, user: str) -> None:
    assert parse_principal_mapping(rules).user_name(name) == user


@pytest.mark.parametrize("rules", ["", "RULE:CN=a/b/", "RULE:CN=a.*/x/,RULE:CN=c/b/L"])
def test_a_name_without_a_matching_rule_is_rejected(rules: str) -> None:
    with pytest.raises(NoMatchingRule, match="for CN=bob"):
        parse_principal_mapping(rules).user_name("CN=bob")


@pytest.mark.parametrize(
    ("rules", "named", "problem"),
    [
        ("default", "'default'", "neither DEFAULT nor RULE"),
        ("DEFAULT,RULE:a/b", "'RULE:a/b'", "neither"),
        ("RULE:a/b/X", "'RULE:a/b/X'", "neither"),
        ("RULE:a/b/LU", "'RULE:a/b/LU'", "neither"),
        ("DEFAULT,RULE:(a/b/", "'RULE:(a/b/'", "unterminated subpattern"),
        (r"RULE:\p{L}/b/", r"'RULE:\\p{L}/b/'", "bad escape"),
        ("RULE:a/$x/", "'RULE:a/$x/'", "number of a group"),
        ("RULE:a/b$/", "'RULE:a/b$/'", "number of a group"),
        ("RULE:a/${n}/", "'RULE:a/${n}/'", "no group n"),
    ],
)
def test_a_rule_that_is_none_is_named(rules: str, named: str, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_principal_mapping(rules)
    assert str(raised.value).startswith(named)
    assert problem in str(raised.value)
