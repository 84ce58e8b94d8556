"""`--add-scram` in the syntax of Kafka's storage tool (KIP-900)."""

from __future__ import annotations

import pytest

from signalbox.security.sasl.scram_argument import BadScramArgument, parse_scram_argument
from signalbox.security.sasl.scram_messages import make_credential


def test_a_password() -> None:
    user = parse_scram_argument(" SCRAM-SHA-256=[name=admin,password=s=e[c]ret] ")
    credential = user.credential()
    assert (user.mechanism, user.name, credential.iterations) == ("SCRAM-SHA-256", "admin", 4096)
    assert credential == make_credential("SCRAM-SHA-256", "s=e[c]ret", credential.salt)
    assert user.credential().salt != credential.salt


def test_everything_given_and_in_quotes() -> None:
    text = 'SCRAM-SHA-512=[name="alice", iterations="8192",salt="N3E=",saltedpassword="YCE="]'
    user = parse_scram_argument(text)
    assert (user.mechanism, user.name, user.iterations) == ("SCRAM-SHA-512", "alice", 8192)
    assert (user.salt, user.salted_password, user.password) == (b"7q", b"`!", None)
    assert user.credential() == user.credential()
    assert "YCE" not in repr(user)
    assert "`!" not in repr(user)


def test_what_is_there_already_is_known_by_the_password() -> None:
    stored = make_credential("SCRAM-SHA-256", "secret", b"salt", 5000)
    for text, same in (
        ("name=a,password=secret", True),
        ("name=a,password=other", False),
        ("name=a,password=secret,iterations=5000", True),
        ("name=a,password=secret,iterations=5001", False),
        ("name=a,password=secret,salt=c2FsdA==", True),
        ("name=a,password=secret,salt=c2Fs", False),
    ):
        assert parse_scram_argument(f"SCRAM-SHA-256=[{text}]").agrees_with(stored) == same, text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected MECHANISM="),
        ("SCRAM-SHA-256", "expected MECHANISM="),
        ("SCRAM-SHA-256=name=a", "expected MECHANISM="),
        ("PLAIN=[name=a,password=SECRET]", "PLAIN is not supported"),
        ("SCRAM-SHA-256=[]", "piece 1"),
        ("SCRAM-SHA-256=[password=SECRET]", "'name' is missing"),
        ("SCRAM-SHA-256=[name=,password=SECRET]", "'name' is missing or empty"),
        ("SCRAM-SHA-256=[name=a]", "one of 'password' and 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,password=]", "'password' is empty"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,saltedpassword=YCE=,salt=YCE=]", "one of"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=YCE=]", "needs the 'salt'"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,SECRET]", "piece 3"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,password=SECRET]", "'password' is given twice"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,pepper=1]", "piece 3"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,salt=SECRET!]", "'salt' is not base64"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,salt=]", "'salt' is not base64"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,iterations=4095]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,iterations=16385]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=SECRET,iterations=many]", "from 4096 to 16384"),
    ],
)
def test_what_names_no_user_is_rejected_without_repeating_it(text: str, says: str) -> None:
    with pytest.raises(BadScramArgument) as rejected:
        parse_scram_argument(text)
    assert says in str(rejected.value)
    assert "SECRET" not in str(rejected.value)
