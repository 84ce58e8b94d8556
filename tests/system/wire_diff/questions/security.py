"""ACLs, SCRAM users, quotas, delegation tokens, login."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import AFTER_HANDSHAKE, NEW_CONNECTION, Question, password_of

_Q = Question
_ANY = 1
_ACL: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "acl-topic",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER: dict[str, Any] = {
    "resource_type_filter": _ANY,
    "resource_name_filter": None,
    "pattern_type_filter": _ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": _ANY,
    "permission_type": _ANY,
}


def _acl(what: str, **fields: Any) -> Question:
    return _Q(ApiKey.CREATE_ACLS, what, {"creations": [{**_ACL, **fields}]})


def _acls(what: str, **fields: Any) -> Question:
    return _Q(ApiKey.DESCRIBE_ACLS, what, {**_FILTER, **fields})


def _drop(what: str, **fields: Any) -> Question:
    return _Q(ApiKey.DELETE_ACLS, what, {"filters": [{**_FILTER, **fields}]})


def _quota(what: str, key: str, value: float, *entity: tuple[str, str | None], **more: Any) -> Question:
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity]
    operation = {"key": key, "value": value, "remove": more.pop("remove", False)}
    return _Q(ApiKey.ALTER_CLIENT_QUOTAS, what, {"entries": [{"entity": parts, "ops": [operation]}], **more})


def _quotas(what: str, *parts: tuple[str, int, str | None], strict: bool = False) -> Question:
    components = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in parts]
    return _Q(ApiKey.DESCRIBE_CLIENT_QUOTAS, what, {"components": components, "strict": strict})


def _user(what: str, **fields: Any) -> Question:
    made = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return _Q(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, what, {"upsertions": [{**made, **fields}]})


_USERS, _TOKEN = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.CREATE_DELEGATION_TOKEN
_RENEW, _EXPIRE, _TOKENS = (
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
)
_EXACT, _DEFAULT, _ALL = range(3)
_HOUR_MS = 3_600_000
_BOB = {"principal_type": "User", "principal_name": "bob"}


def _by_alice(api: ApiKey, what: str, **body: Any) -> Question:
    return _Q(api, f"by a user, {what}", body, user="alice", keep={"hmac": "hmac"} if api is _TOKEN else {})


def _new_token(what: str, lifetime_ms: int = -1, **body: Any) -> Question:
    made = {"renewers": [], "max_lifetime_ms": lifetime_ms, "owner_principal_type": None, "owner_principal_name": None}
    return _by_alice(_TOKEN, what, **{**made, **body})


def _log_in(what: str, proof: str) -> Question:
    return _Q(ApiKey.SASL_AUTHENTICATE, what, {"auth_bytes": proof.encode()}, user=AFTER_HANDSHAKE)


_OF_USERS = (
    _new_token("for another owner", owner_principal_type="User", owner_principal_name="bob"),
    _new_token("with a renewer that is no user", renewers=[{"principal_type": "Group", "principal_name": "g"}]),
    _new_token("with an hour to live and a renewer", _HOUR_MS, renewers=[_BOB]),
    _new_token("her own"),
    _by_alice(_TOKENS, "all", owners=None),
    _by_alice(_TOKENS, "her own", owners=[{"principal_type": "User", "principal_name": "alice"}]),
    _by_alice(_TOKENS, "of another owner", owners=[_BOB]),
    _by_alice(_TOKENS, "of no owner", owners=[]),
    _by_alice(_RENEW, "her own", hmac="$hmac", renew_period_ms=_HOUR_MS),
    _by_alice(_RENEW, "one that is not there", hmac=b"x", renew_period_ms=_HOUR_MS),
    _by_alice(_EXPIRE, "her own in an hour", hmac="$hmac", expiry_time_period_ms=_HOUR_MS),
    _by_alice(_EXPIRE, "one that is not there", hmac=b"x", expiry_time_period_ms=_HOUR_MS),
    _Q(_EXPIRE, "by a user, her own at once", {"hmac": "$hmac", "expiry_time_period_ms": -1}, (2,), user="alice"),
    _Q(ApiKey.SASL_HANDSHAKE, "a mechanism that is enabled", {"mechanism": "PLAIN"}, user=NEW_CONNECTION),
    _Q(ApiKey.SASL_HANDSHAKE, "a mechanism that is not enabled", {"mechanism": "GSSAPI"}, user=NEW_CONNECTION),
    _log_in("the right password", f"\0alice\0{password_of('alice')}"),
    _log_in("another identity than the user's", f"bob\0alice\0{password_of('alice')}"),
    _log_in("a wrong password", "\0alice\0wrong"),
    _log_in("an unknown user", "\0unknown\0wrong"),
    _log_in("no password", "\0alice\0"),
    _log_in("nothing", ""),
    _Q(ApiKey.SASL_AUTHENTICATE, "without a handshake", {"auth_bytes": b"\0a\0b"}, user=NEW_CONNECTION),
    _Q(ApiKey.METADATA, "without a login", {"topics": []}, user=NEW_CONNECTION),
)

SECURITY = (
    _acl("an ACL"),
    _acl("a prefixed one", resource_pattern_type=4, resource_name="pre"),
    _acl("on the cluster", resource_type=4, resource_name="kafka-cluster", operation=9),
    _acl("on a cluster of another name", resource_type=4, resource_name="another", operation=9),
    _acl("an operation the resource does not have", resource_type=2, operation=12),
    _acl("a principal without a type", principal="alice"),
    _acl("without a resource name", resource_name=""),
    _acl("a pattern for filters", resource_pattern_type=2),
    _acl("an operation for filters", operation=1),
    _Q(ApiKey.CREATE_ACLS, "nothing", {"creations": []}),
    _acls("all"),
    _acls("of a topic", resource_type_filter=2, resource_name_filter="acl-topic", pattern_type_filter=3),
    _acls("that match a name", resource_type_filter=2, resource_name_filter="prefix", pattern_type_filter=2),
    _acls("of a principal", principal_filter="User:alice"),
    _acls("of an unknown principal", principal_filter="User:unknown"),
    _drop("of an unknown principal", principal_filter="User:unknown"),
    _drop("all of a topic", resource_type_filter=2, resource_name_filter="acl-topic", pattern_type_filter=3),
    _drop("all"),
    _Q(ApiKey.DELETE_ACLS, "nothing", {"filters": []}),
    _user("a user"),
    _user("too few iterations", iterations=100),
    _user("too many iterations", iterations=1_000_000),
    _user("a mechanism that does not exist", mechanism=9),
    _user("a user without a name", name=""),
    _user("no salt", salt=b""),
    _Q(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "nothing"),
    _Q(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        "a user that is not there deleted",
        {"deletions": [{"name": "unknown", "mechanism": 1}]},
    ),
    _Q(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        "deleted twice",
        {"deletions": [{"name": "alice", "mechanism": 1}, {"name": "alice", "mechanism": 1}]},
    ),
    _Q(_USERS, "all", {"users": None}),
    _Q(_USERS, "none named: all", {"users": []}),
    _Q(_USERS, "one", {"users": [{"name": "alice"}]}),
    _Q(_USERS, "one that is not there", {"users": [{"name": "unknown"}]}),
    _Q(_USERS, "one twice", {"users": [{"name": "alice"}, {"name": "alice"}]}),
    _Q(_USERS, "one without a name", {"users": [{"name": ""}]}),
    _quota("of a user", "producer_byte_rate", 1e6, ("user", "alice")),
    _quota("of a user and a client", "consumer_byte_rate", 1e6, ("user", "alice"), ("client-id", "c")),
    _quota("of all users", "request_percentage", 500.0, ("user", None)),
    _quota("of an address", "connection_creation_rate", 50.0, ("ip", "127.0.0.9")),
    _quota("validated only", "producer_byte_rate", 5.0, ("user", "bob"), validate_only=True),
    _quota("a key that does not exist", "no_such_rate", 1.0, ("user", "alice")),
    _quota("of a kind that does not exist", "producer_byte_rate", 1.0, ("planet", "x")),
    _quota("of an address and a user", "producer_byte_rate", 1.0, ("user", "a"), ("ip", "127.0.0.1")),
    _quota("of an address that is none", "connection_creation_rate", 1.0, ("ip", "not an address")),
    _quota("without an entity", "producer_byte_rate", 1.0),
    _quota("of 0", "producer_byte_rate", 0.0, ("user", "zero")),
    _quota("below 0", "producer_byte_rate", -1.0, ("user", "alice")),
    _quota("a part where a whole number belongs", "producer_byte_rate", 1.5, ("user", "alice")),
    _quota("of a user without a name", "producer_byte_rate", 1.0, ("user", "")),
    _quota("taken back that is not there", "producer_byte_rate", 0.0, ("user", "unknown"), remove=True),
    _quotas("all"),
    _quotas("of a user", ("user", _EXACT, "alice")),
    _quotas("of a user alone", ("user", _EXACT, "alice"), strict=True),
    _quotas("of any user", ("user", _ALL, None)),
    _quotas("of the default user", ("user", _DEFAULT, None)),
    _quotas("of any address", ("ip", _ALL, None)),
    _quotas("of a kind that does not exist", ("planet", _ALL, None)),
    _quotas("of a kind twice", ("user", _ALL, None), ("user", _EXACT, "a")),
    _quotas("of an address and a user", ("user", _ALL, None), ("ip", _ALL, None)),
    _quotas("a way to match that does not exist", ("user", 9, "a")),
    _quotas("no name to match", ("user", _EXACT, None)),
    _quotas("no kind", ("", _ALL, None)),
    _quota("taken back", "request_percentage", 0.0, ("user", None), remove=True),
    _Q(
        _TOKEN,
        "by ANONYMOUS",
        {"renewers": [], "max_lifetime_ms": -1, "owner_principal_type": None, "owner_principal_name": None},
    ),
    _Q(ApiKey.RENEW_DELEGATION_TOKEN, "by ANONYMOUS", {"hmac": b"x", "renew_period_ms": 1}),
    _Q(ApiKey.EXPIRE_DELEGATION_TOKEN, "by ANONYMOUS", {"hmac": b"x", "expiry_time_period_ms": 1}),
    _Q(ApiKey.DESCRIBE_DELEGATION_TOKEN, "by ANONYMOUS", {"owners": None}),
    _Q(ApiKey.SASL_HANDSHAKE, "where there is no SASL", {"mechanism": "PLAIN"}),
    _Q(ApiKey.SASL_AUTHENTICATE, "where there is no SASL", {"auth_bytes": b"\0a\0b"}),
    *_OF_USERS,
)
