"""All limits of the system, each with a name, a unit and a reason. Configuration can lower some of them."""

from __future__ import annotations

# Wire
MAX_FRAME_SIZE_BYTES = 104_857_600  # socket.request.max.bytes' default: a larger frame closes its connection
LONG_FRAME_BYTES = 8_192  # a request from this size on (but Produce) is decoded and handled in slices
MAX_UNAUTHENTICATED_FRAME_BYTES = 524_288  # before authentication; no login needs more (sasl.server.max.receive.size)
MAX_DECOMPRESSED_BATCH_BYTES = 268_435_456  # a batch that decompresses to more is rejected as corrupt
MIN_APPENDED_UNPACKED_BYTES = 67_108_864  # an append may always decompress this much of one batch ...
APPENDED_UNPACKED_TIMES = 64  # ... or this many times max.message.bytes
UNPACKED_AT_ONCE_BYTES = 65_536  # of a batch: up to here decompressed in the event loop (50 us), above in a thread
MAX_UNPACKING_BYTES = 268_435_456  # decompressed size of the batches that are in threads, of all connections together
MAX_AWAITING_UNPACKING_BYTES = 67_108_864  # batches that wait for it; beyond it the response is REQUEST_TIMED_OUT
MAX_AWAITING_VERIFICATION_BYTES = 67_108_864  # batches that wait for it; beyond it they get NOT_ENOUGH_REPLICAS
MAX_RECORD_ERRORS = 10_000  # of one batch, in a ProduceResponse: the most records that librdkafka puts into a batch
MAX_ACCESS_TOKEN_BYTES = 16_384  # of an OAuth token: the check of a longer one would block the event loop too long
MAX_FETCHED_DOCUMENT_BYTES = 1_048_576  # of the response of a JWKS endpoint or a token endpoint
MAX_ARRAY_ELEMENTS = 1_000_000  # of one array in one message, in addition to the limit by the bytes that remain

# Connections
MAX_REQUEST_TEMPLATES_PER_CONNECTION = 32  # of the fast path; the oldest is evicted first
MAX_SESSION_RESPONSE_TEMPLATES = 64  # of one request template; all are forgotten when one more is needed
MAX_REQUEST_TEMPLATE_PARTITIONS = 8  # requests for more partitions do not use the fast path
MAX_FAST_PATH_ABORTED_TRANSACTIONS = 100  # a response with more of them takes the generic path (50 us for these)
PAUSE_READING_BYTES = 4_194_304  # of unsent responses: no further request is read until they are sent
MAX_SEND_QUEUE_BYTES = 268_435_456  # a connection with more unsent bytes is closed
SHARED_RECEIVE_BUFFER_BYTES = 262_144  # one buffer for all idle connections of a data loop
MAX_IDLE_POOL_BYTES = 67_108_864  # receive buffers kept for reuse by one data loop; trimmed when not needed
JOINED_SEND_BYTES = 65_536  # responses below this are joined and sent in one send, larger ones by sendmsg
SENDFILE_FROM_BYTES = 32_768  # file slices above this go by sendfile (below, three calls cost more than a copy)
SPARE_STORAGE_DESCRIPTORS = 32  # kept in reserve by storage, so that an operation on a log's files can be completed
MAX_METRICS_CONNECTIONS = 32  # of the metrics page; beyond it the oldest one without a request is closed
SPARE_DESCRIPTORS = 256  # not for clients: for logs and broker connections (a quarter of all if the limit is low)
MAX_ACCEPTS_AT_ONCE = 16  # new connections accepted from one listener before other events are handled
MAX_CONTROL_ACCEPTS_AT_ONCE = 1  # the same on a control plane: each one creates an asyncio transport
MAX_CALLBACKS_AT_ONCE = 8  # threads of one listener that run a user's own authentication callback

# Replication
MAX_FETCH_SESSIONS = 1_000  # max.incremental.fetch.session.cache.slots' default
MAX_FETCH_WAIT_MS = 60_000  # a fetch does not wait longer, whatever its own limit: the client may be disconnected
MAX_REJECTED_PRODUCERS = 1_000  # idempotent producers of one partition whose rejected batches are remembered
MAX_UNHOSTED_REJECTIONS = 64  # the same for partitions that are not hosted (yet)

# Forwarding
MAX_FORWARDS_IN_FLIGHT = 256  # requests from one broker to the active controller without a response yet
MAX_QUOTA_BUCKETS = 10_000  # clients whose use of a quota is kept; the least recently active is evicted
MAX_THROTTLE_MS = 30_000  # a client that owes more is throttled again with its next request
MAX_FORWARDED_RESPONSE_BYTES = 262_144  # a larger response to a forwarded change is not kept for a retry
MAX_FORWARDS_QUEUED = 10_000  # beyond it the response to a forwarded request is REQUEST_TIMED_OUT at once

# Authorization
MAX_BROKER_PRINCIPALS = 1_000  # principals known to be brokers; more than a cluster has brokers

# Decisions
MAX_RESOURCES_PER_CHANGE = 10_000  # topics to create, delete or grow, or resources to configure, in one request
MAX_PARTITIONS_PER_TOPIC = 10_000
MAX_PARTITIONS_PER_REQUEST = 10_000  # new ones of all its topics, as in Kafka: a decision blocks the event loop

# Audit
MAX_AUDIT_EVENTS_QUEUED = 10_000  # more are dropped: the gap in `seq` shows it
MAX_REJECTION_DETAILS = 10  # client ids, APIs and reasons of one address that are counted separately there
MAX_REJECTION_WINDOWS = 1_000  # addresses whose rejected connections are counted separately in the audit trail
MAX_AUDIT_BATCH_EVENTS = 64  # written at once, by the loop that handles requests

# Files
MAX_CONFIG_FILE_BYTES = 4_194_304  # a server.properties with keystores in it has tens of thousands
MAX_AWAITED_LOGS = 10_000  # requested log directories for logs that do not exist yet
MAX_OPEN_SEGMENT_FILES = 512  # closed segments whose files stay open for reads

# Responses
MAX_METADATA_ANSWERS_KEPT = 16  # of "all topics": by version, listener and the controller in the response

# Metrics
MAX_CLIENT_IDS_COUNTED = 1_000  # client ids with a row of their own
MAX_CLIENT_SOFTWARE_COUNTED = 200  # client software with a row of its own, by listener, name and version
MAX_CLIENT_SOFTWARE_LENGTH = 100  # characters of its name or version
