"""SCRAM credentials in the store are Kafka's text (SPEC M2)."""

from __future__ import annotations

import pytest

from signalbox.security.sasl.scram_messages import make_credential
from signalbox.security.sasl.stored_credential import BadCredential, decode_credential, encode_credential

# RFC 7677's example: user "user", password "pencil"; the keys are the RFC's.
TEXT = (
    "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
)


@pytest.mark.spec("M2")
def test_the_text() -> None:
    credential = decode_credential(TEXT)
    assert (credential.iterations, len(credential.stored_key), len(credential.server_key)) == (4096, 32, 32)
    assert credential == make_credential("SCRAM-SHA-256", "pencil", credential.salt)
    assert encode_credential(credential) == TEXT
    assert decode_credential(TEXT.replace(",", ", ")) == credential


@pytest.mark.parametrize(
    "text",
    [
        "",
        "password",
        TEXT + ",more=1",
        TEXT.replace("salt=", "pepper="),
        TEXT.replace("4096", "many"),
        TEXT.replace("W22", "!22"),
    ],
)
def test_what_is_none_is_not_repeated(text: str) -> None:
    with pytest.raises(BadCredential) as rejected:
        decode_credential(text)
    assert "WG5d8oPm3" not in str(rejected.value)
    assert "many" not in str(rejected.value)


def test_a_credential_does_not_show_its_keys() -> None:
    shown = repr(decode_credential(TEXT))
    assert shown == "ScramCredential(iterations=4096)"
