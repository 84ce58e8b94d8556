"""Kafka's error codes: number, name, whether a retry may help, and the meaning in a sentence; and where responses have
them.

A retriable code is one whose Java exception is a RetriableException: clients retry the request after a refresh of
metadata or a pause. The numbers are the protocol's; two of them concern routing: 97 (an Envelope whose principal cannot
be read, KIP-590) and 129 (a connection that leads to the wrong node, KIP-1242).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

RETRIABLE = True
FINAL = False


class Error(IntEnum):
    """One row per code. An `Error` is an int: it goes into `error_code` fields as it is."""

    retriable: bool
    message: str

    def __new__(cls, code: int, retriable: bool, message: str) -> Error:
        error = int.__new__(cls, code)
        error._value_ = code
        error.retriable = retriable
        error.message = message
        return error

    UNKNOWN_SERVER_ERROR = -1, FINAL, "The broker failed with an unexpected error."
    NONE = 0, FINAL, "No error."
    OFFSET_OUT_OF_RANGE = 1, FINAL, "The requested offset is not within the range of offsets of the log."
    CORRUPT_MESSAGE = 2, RETRIABLE, "The record batch is corrupt: its checksum or its format is invalid."
    UNKNOWN_TOPIC_OR_PARTITION = 3, RETRIABLE, "This broker does not host this topic partition."
    INVALID_FETCH_SIZE = 4, FINAL, "The fetch size is not a positive number."
    LEADER_NOT_AVAILABLE = 5, RETRIABLE, "The partition has no leader: an election is in progress."
    NOT_LEADER_OR_FOLLOWER = 6, RETRIABLE, "This broker is not the leader or a follower of the partition."
    REQUEST_TIMED_OUT = 7, RETRIABLE, "The request timed out."
    BROKER_NOT_AVAILABLE = 8, FINAL, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, RETRIABLE, "The replica is not available."
    MESSAGE_TOO_LARGE = 10, FINAL, "The record batch is larger than max.message.bytes of the topic."
    STALE_CONTROLLER_EPOCH = 11, FINAL, "The request has an old controller epoch."
    OFFSET_METADATA_TOO_LARGE = 12, FINAL, "The metadata string of the committed offset is too long."
    NETWORK_EXCEPTION = 13, RETRIABLE, "The connection was lost before the response."
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRIABLE, "The coordinator is loading its log."
    COORDINATOR_NOT_AVAILABLE = 15, RETRIABLE, "The coordinator is not available."
    NOT_COORDINATOR = 16, RETRIABLE, "This broker is not the coordinator of this group or transaction."
    INVALID_TOPIC_EXCEPTION = 17, FINAL, "The topic name is not allowed, or the topic may not be used like this."
    RECORD_LIST_TOO_LARGE = 18, FINAL, "The batch is larger than a log segment."
    NOT_ENOUGH_REPLICAS = 19, RETRIABLE, "Fewer replicas are in sync than min.insync.replicas."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        RETRIABLE,
        "Appended, but to fewer in-sync replicas than min.insync.replicas.",
    )
    INVALID_REQUIRED_ACKS = 21, FINAL, "acks must be 0, 1 or -1."
    ILLEGAL_GENERATION = 22, FINAL, "The generation is not the group's current one."
    INCONSISTENT_GROUP_PROTOCOL = 23, FINAL, "The member has no protocol in common with the other members."
    INVALID_GROUP_ID = 24, FINAL, "The group id is empty or not allowed."
    UNKNOWN_MEMBER_ID = 25, FINAL, "The member is not in the group."
    INVALID_SESSION_TIMEOUT = 26, FINAL, "The session timeout is outside of the broker's limits."
    REBALANCE_IN_PROGRESS = 27, FINAL, "The group is rebalancing: join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, FINAL, "The committed offset's record is too large."
    TOPIC_AUTHORIZATION_FAILED = 29, FINAL, "Not allowed on this topic."
    GROUP_AUTHORIZATION_FAILED = 30, FINAL, "Not allowed on this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, FINAL, "Not allowed on the cluster."
    INVALID_TIMESTAMP = 32, FINAL, "The record's timestamp is out of the allowed range."
    UNSUPPORTED_SASL_MECHANISM = 33, FINAL, "The broker has not enabled this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, FINAL, "This request is not valid in the current SASL state."
    UNSUPPORTED_VERSION = 35, FINAL, "The broker does not support this version of the API."
    TOPIC_ALREADY_EXISTS = 36, FINAL, "A topic with this name already exists."
    INVALID_PARTITIONS = 37, FINAL, "The number of partitions is below 1, or not allowed here."
    INVALID_REPLICATION_FACTOR = 38, FINAL, "The replication factor is below 1 or above the number of live brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, FINAL, "The replica assignment is inconsistent or names unknown brokers."
    INVALID_CONFIG = 40, FINAL, "A configuration value is invalid."
    NOT_CONTROLLER = 41, RETRIABLE, "This broker is not the active controller."
    INVALID_REQUEST = 42, FINAL, "The request is inconsistent or not possible."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, FINAL, "The log's message format does not support this."
    POLICY_VIOLATION = 44, FINAL, "A policy of the cluster rejects this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, FINAL, "The producer's sequence number is out of order."
    DUPLICATE_SEQUENCE_NUMBER = 46, FINAL, "The producer's sequence number is a duplicate of an older batch."
    INVALID_PRODUCER_EPOCH = 47, FINAL, "The producer used an old epoch."
    INVALID_TXN_STATE = 48, FINAL, "The operation is not valid in the transaction's current state."
    INVALID_PRODUCER_ID_MAPPING = 49, FINAL, "This producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, FINAL, "The transaction timeout is larger than the broker allows."
    CONCURRENT_TRANSACTIONS = 51, RETRIABLE, "The transaction is being completed: try again."
    TRANSACTION_COORDINATOR_FENCED = 52, FINAL, "The request is from an old transaction coordinator."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, FINAL, "Not allowed on this transactional id."
    SECURITY_DISABLED = 54, FINAL, "The security feature is disabled."
    OPERATION_NOT_ATTEMPTED = 55, FINAL, "Not attempted, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, RETRIABLE, "The broker cannot use the disk that holds this partition."
    LOG_DIR_NOT_FOUND = 57, FINAL, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, FINAL, "Authentication failed."
    UNKNOWN_PRODUCER_ID = 59, FINAL, "The broker has no state of this producer id."
    REASSIGNMENT_IN_PROGRESS = 60, FINAL, "The partition is being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, FINAL, "Delegation tokens are disabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, FINAL, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, FINAL, "The delegation token belongs to another principal."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        FINAL,
        "Delegation token requests are not allowed on this connection.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, FINAL, "Not allowed on this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, FINAL, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, FINAL, "The principal type is not supported."
    NON_EMPTY_GROUP = 68, FINAL, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, FINAL, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRIABLE, "There is no such fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, RETRIABLE, "The fetch session's epoch is not the next one."
    LISTENER_NOT_FOUND = 72, RETRIABLE, "The leader has no endpoint on the listener of this request."
    TOPIC_DELETION_DISABLED = 73, FINAL, "Topic deletion is disabled."
    FENCED_LEADER_EPOCH = 74, RETRIABLE, "The leader epoch is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, RETRIABLE, "The leader epoch is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, FINAL, "The client's version does not support this compression type."
    STALE_BROKER_EPOCH = 77, FINAL, "The request has an old broker epoch."
    OFFSET_NOT_AVAILABLE = 78, RETRIABLE, "The leader does not know this offset yet."
    MEMBER_ID_REQUIRED = 79, FINAL, "Join again with the member id of this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, RETRIABLE, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, FINAL, "The group has reached its maximum size."
    FENCED_INSTANCE_ID = 82, FINAL, "Another member with this instance id has joined."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, RETRIABLE, "No replica is eligible as leader."
    ELECTION_NOT_NEEDED = 84, RETRIABLE, "The preferred leader is already the leader."
    NO_REASSIGNMENT_IN_PROGRESS = 85, FINAL, "The partition is not being reassigned."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, FINAL, "The group is subscribed to the topic."
    INVALID_RECORD = 87, FINAL, "The record does not meet a rule of the broker or the topic."
    UNSTABLE_OFFSET_COMMIT = 88, RETRIABLE, "Offsets of an open transaction are not stable yet."
    THROTTLING_QUOTA_EXCEEDED = 89, RETRIABLE, "The throttling quota has been exceeded."
    PRODUCER_FENCED = 90, FINAL, "There is a newer producer with the same transactional id."
    RESOURCE_NOT_FOUND = 91, FINAL, "There is no such resource."
    DUPLICATE_RESOURCE = 92, FINAL, "The resource is duplicated or already exists."
    UNACCEPTABLE_CREDENTIAL = 93, FINAL, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, FINAL, "The voter sets differ."
    INVALID_UPDATE_VERSION = 95, FINAL, "The update's version is not the next one."
    FEATURE_UPDATE_FAILED = 96, FINAL, "The feature could not be changed."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, FINAL, "The principal in the envelope could not be read."
    SNAPSHOT_NOT_FOUND = 98, FINAL, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, FINAL, "The position is beyond the snapshot's end."
    UNKNOWN_TOPIC_ID = 100, RETRIABLE, "The topic id is unknown to this broker."
    DUPLICATE_BROKER_REGISTRATION = 101, FINAL, "A live broker is registered under this id."
    BROKER_ID_NOT_REGISTERED = 102, FINAL, "No broker is registered under this id."
    INCONSISTENT_TOPIC_ID = 103, RETRIABLE, "The topic id in the log differs from the one in the request."
    INCONSISTENT_CLUSTER_ID = 104, FINAL, "The cluster id differs from this cluster's."
    TRANSACTIONAL_ID_NOT_FOUND = 105, FINAL, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, RETRIABLE, "The fetch session mixes topics with and without ids."
    INELIGIBLE_REPLICA = 107, FINAL, "The new in-sync set names a replica that may not be in it."
    NEW_LEADER_ELECTED = 108, FINAL, "The leader changed while the in-sync set was altered."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, FINAL, "The offset has moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, FINAL, "The member's epoch is fenced by a newer one."
    UNRELEASED_INSTANCE_ID = 111, FINAL, "Another live member holds this instance id."
    UNSUPPORTED_ASSIGNOR = 112, FINAL, "The broker does not have this assignor."
    STALE_MEMBER_EPOCH = 113, FINAL, "The member's epoch is older than the group's: heartbeat again."
    MISMATCHED_ENDPOINT_TYPE = 114, FINAL, "The request was sent to the wrong type of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, FINAL, "The endpoint type is not supported."
    UNKNOWN_CONTROLLER_ID = 116, FINAL, "The controller id is unknown."
    UNKNOWN_SUBSCRIPTION_ID = 117, FINAL, "The telemetry subscription is out of date."
    TELEMETRY_TOO_LARGE = 118, FINAL, "The telemetry payload is too large."
    INVALID_REGISTRATION = 119, FINAL, "The controller rejects the registration."
    TRANSACTION_ABORTABLE = 120, FINAL, "The transaction must be aborted."
    INVALID_RECORD_STATE = 121, FINAL, "The record is not in a state that allows this."
    SHARE_SESSION_NOT_FOUND = 122, RETRIABLE, "There is no such share session."
    INVALID_SHARE_SESSION_EPOCH = 123, RETRIABLE, "The share session's epoch is not the next one."
    FENCED_STATE_EPOCH = 124, FINAL, "The share state's epoch is fenced by a newer one."
    INVALID_VOTER_KEY = 125, FINAL, "The voter key does not match."
    DUPLICATE_VOTER = 126, FINAL, "This voter is in the set."
    VOTER_NOT_FOUND = 127, FINAL, "This voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, FINAL, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, FINAL, "The connection reached another node than the client expects: bootstrap again."
    STREAMS_INVALID_TOPOLOGY = 130, FINAL, "The streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, FINAL, "The streams topology's epoch is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, FINAL, "The streams topology is fenced by a newer one."
    SHARE_SESSION_LIMIT_REACHED = 133, RETRIABLE, "The broker has reached its limit of share sessions."

    @classmethod
    def of(cls, code: int) -> Error:
        """The row of a code from the wire; UNKNOWN_SERVER_ERROR for an unknown code."""
        try:
            return cls(code)  # type: ignore[call-arg]
        except ValueError:
            return cls.UNKNOWN_SERVER_ERROR


class KafkaError(Exception):
    """A rejection with an error code. `message` says what was rejected; by default it is the code's own sentence."""

    def __init__(self, error: Error, message: str | None = None) -> None:
        self.error = error
        self.message = error.message if message is None else message
        super().__init__(f"{error.name}: {self.message}")


def error_codes(response: Any) -> Iterator[int]:
    """The codes of a response, wherever its message has them: the top-level one, and those of the entries of its
    arrays, in schema order; entries inside entries are not searched.

    Kafka has no rule for the place: CreateTopics has a code per entry of `topics`, AlterConfigs per entry of
    `responses`, AlterPartition a top-level one. This works for every API.
    """
    for name in response._attributes:
        value = getattr(response, name)
        if name == "error_code":
            yield value
        elif isinstance(value, list | tuple):
            for entry in value:
                code = getattr(entry, "error_code", None)
                if code is not None:
                    yield code


def has_not_controller_error(response: Any) -> bool:
    """Whether the response has NOT_CONTROLLER; one such entry among many is enough."""
    return Error.NOT_CONTROLLER in error_codes(response)
