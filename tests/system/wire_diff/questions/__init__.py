"""All questions, in the order in which they are sent: some create what later ones need."""

from __future__ import annotations

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.questions.cluster import CLUSTER
from tests.system.wire_diff.questions.configs import CONFIGS
from tests.system.wire_diff.questions.groups import GROUPS
from tests.system.wire_diff.questions.malformed import MALFORMED
from tests.system.wire_diff.questions.records import RECORDS
from tests.system.wire_diff.questions.security import SECURITY
from tests.system.wire_diff.questions.topics import DELETIONS, TOPICS
from tests.system.wire_diff.questions.transactions import TRANSACTIONS

QUESTIONS = (*TOPICS, *RECORDS, *GROUPS, *TRANSACTIONS, *CONFIGS, *SECURITY, *CLUSTER, *MALFORMED, *DELETIONS)

CHANGES = frozenset(
    {
        ApiKey.PRODUCE, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS,
        ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP, ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE,
        ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS, ApiKey.UPDATE_FEATURES, ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN,
        ApiKey.TXN_OFFSET_COMMIT, ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE,
    }
)  # fmt: skip
"""APIs whose second response differs: the first request changes the state."""
