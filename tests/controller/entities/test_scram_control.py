"""AlterUserScramCredentials (KIP-554): Kafka's results, and the stored credentials."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.decision import Decision
from signalbox.controller.entities.scram_control import alter_user_scram_credentials
from signalbox.controller.records import ConfigsSet
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from signalbox.security.sasl.scram_messages import make_credential, salted_password
from signalbox.security.sasl.stored_credential import decode_credential, encode_credential
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

SHA_256, SHA_512, UNKNOWN = 1, 2, 3
SALT = b"salt of the user"
OLD = encode_credential(make_credential("SCRAM-SHA-256", "old", SALT))
CONTEXT = make_context(1, configs={"users/alice": {"SCRAM-SHA-256": OLD, "consumer_byte_rate": "5"}})
ABSENT, TWICE, UNACCEPTABLE, UNSUPPORTED = (
    Error.RESOURCE_NOT_FOUND,
    Error.DUPLICATE_RESOURCE,
    Error.UNACCEPTABLE_CREDENTIAL,
    Error.UNSUPPORTED_SASL_MECHANISM,
)


def put(user: str, mechanism: int = SHA_256, iterations: int = 4096, password: str = "new") -> Any:
    name = {SHA_512: "SCRAM-SHA-512"}.get(mechanism, "SCRAM-SHA-256")
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=SALT,
        salted_password=salted_password(name, password, SALT, 4096),
    )


def drop(user: str, mechanism: int = SHA_256) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(*changes: Any) -> tuple[Decision, dict[str, int]]:
    deletions = [each for each in changes if isinstance(each, AlterUserScramCredentialsRequest.ScramCredentialDeletion)]
    upsertions = [each for each in changes if each not in deletions]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    decision = alter_user_scram_credentials(CONTEXT, inputs(), request)
    assert isinstance(decision.response, AlterUserScramCredentialsResponse)
    return decision, {result.user: result.error_code for result in decision.response.results}


def test_what_is_stored_checks_the_password() -> None:
    decision, codes = alter(put("bob,x"), put("bob,x", SHA_512))
    [record] = decision.records
    assert isinstance(record, ConfigsSet)
    assert (record.entity_path, codes) == ("users/bob%2Cx", {"bob,x": 0})
    for mechanism, text in record.configs.items():
        assert decode_credential(text) == make_credential(mechanism, "new", SALT)
    assert list(record.configs) == ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_other_configs_of_the_user_stay() -> None:
    decision, codes = alter(drop("alice"))
    assert codes == {"alice": 0}
    assert decision.records == (ConfigsSet("users/alice", {"consumer_byte_rate": "5"}),)
    decision, _ = alter(drop("alice"), put("alice", SHA_512))
    [record] = decision.records
    assert isinstance(record, ConfigsSet)
    assert set(record.configs) == {"SCRAM-SHA-512", "consumer_byte_rate"}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([put("")], UNACCEPTABLE),
        ([drop("")], UNACCEPTABLE),
        ([put("u", UNKNOWN)], UNSUPPORTED),
        ([put("u", 0)], UNSUPPORTED),
        ([drop("alice", UNKNOWN)], UNSUPPORTED),
        ([put("u", iterations=4095)], UNACCEPTABLE),
        ([put("u", iterations=16_385)], UNACCEPTABLE),
        ([put("u", iterations=-1)], UNACCEPTABLE),
        ([put("u"), put("u")], TWICE),
        ([drop("alice"), put("alice")], TWICE),
        ([drop("alice"), drop("alice")], TWICE),
        ([drop("u")], ABSENT),
        ([drop("alice", SHA_512)], ABSENT),
        ([drop("u"), put("u", SHA_512)], ABSENT),
        ([put("u"), put("u", SHA_512, iterations=1)], UNACCEPTABLE),
        # Order of errors: invalid fields, then duplicates, then unknown credentials.
        ([drop("u"), drop("u")], TWICE),
        ([put("u"), put("u"), put("u", UNKNOWN)], UNSUPPORTED),
        ([drop("u", UNKNOWN), put("u", iterations=1)], UNACCEPTABLE),
    ],
)
def test_a_user_is_rejected_as_a_whole_and_alone(changes: list[Any], error: Error) -> None:
    decision, codes = alter(*changes, put("bob"))
    user = changes[0].name
    assert codes == {user: error, "bob": 0}
    assert [record.entity_path for record in decision.records if isinstance(record, ConfigsSet)] == ["users/bob"]


@pytest.mark.parametrize("iterations", [4096, 16_384])
def test_the_bounds_are_taken(iterations: int) -> None:
    assert alter(put("u", iterations=iterations))[1] == {"u": 0}


def test_nothing_secret_is_answered_or_shown() -> None:
    decision, _ = alter(put("bob"), drop("unknown"))
    response = repr(decision.response)
    [record] = decision.records
    assert isinstance(record, ConfigsSet)
    assert record.configs["SCRAM-SHA-256"] not in response
