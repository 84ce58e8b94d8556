"""Every cap in the house, named, with its unit and its reason. Configuration can lower some of them."""

from __future__ import annotations

# Wire
MAX_FRAME_SIZE_BYTES = 104_857_600  # socket.request.max.bytes' default: a larger frame closes its connection
LONG_FRAME_BYTES = 8_192  # a request from this size on (but Produce) is decoded and handled in slices
MAX_UNAUTHENTICATED_FRAME_BYTES = 524_288  # before authentication nobody needs more (sasl.server.max.receive.size)
MAX_DECOMPRESSED_BATCH_BYTES = 268_435_456  # a batch that unpacks to more is refused as corrupt
MIN_APPENDED_UNPACKED_BYTES = 16_777_216  # an append may always unpack this much of one batch ...
APPENDED_UNPACKED_TIMES = 16  # ... or so many times max.message.bytes: a broker's loop stands still meanwhile
MAX_ACCESS_TOKEN_BYTES = 16_384  # of an OAuth token: more would take longer to check than the loop may stand still
MAX_FETCHED_DOCUMENT_BYTES = 1_048_576  # of a JWKS endpoint's or a token endpoint's answer
MAX_ARRAY_ELEMENTS = 1_000_000  # of one array in one message, over and above what the bytes left allow

# Connections
MAX_HOT_SHAPES_PER_CONNECTION = 32  # remembered request prefixes; the oldest goes first
MAX_HOT_SHAPE_PARTITIONS = 8  # requests for more partitions take the generic path
PAUSE_READING_BYTES = 4_194_304  # of unsent answers: no further request is read until they have left
MAX_SEND_QUEUE_BYTES = 268_435_456  # a peer that lets this much pile up is closed
SHARED_RECEIVE_BUFFER_BYTES = 262_144  # one buffer for all idle connections of a data loop
MAX_IDLE_POOL_BYTES = 67_108_864  # receive buffers kept for reuse by one data loop; trimmed when not needed
JOINED_SEND_BYTES = 65_536  # answers below this leave in one joined send, larger ones by sendmsg
SENDFILE_FROM_BYTES = 32_768  # file slices above this go by sendfile (below, three calls cost more than a copy)
SPARE_DESCRIPTORS = 256  # not for clients: logs and brokers need some (a quarter of all where the limit is low)
ACCEPTS_PER_TURN = 16  # new connections taken from one listener before others are served
CONTROL_ACCEPTS_PER_TURN = 1  # the same on a control plane: each costs a transport of asyncio
MAX_CALLBACKS_AT_ONCE = 8  # threads of one listener that wait for somebody's own authentication callback

# Replication
MAX_FETCH_SESSIONS = 1_000  # max.incremental.fetch.session.cache.slots' default
MAX_FETCH_WAIT_MS = 60_000  # a fetch is not parked longer, whatever it asks for: its client may be gone
MAX_REFUSED_PRODUCERS = 1_000  # idempotent producers of one partition whose refused batches are remembered
MAX_UNHOSTED_REFUSALS = 64  # partitions that are not hosted (yet) for which the same is done

# Forwarding
MAX_FORWARDS_IN_FLIGHT = 256  # requests on the way to the active controller from one broker
MAX_QUOTA_BUCKETS = 10_000  # clients whose use of a quota is remembered; the one not heard of for longest goes
MAX_THROTTLE_MS = 30_000  # a client that owes more is held back again with its next request
MAX_FORWARDED_OUTCOME_BYTES = 262_144  # a larger answer to a forwarded change is not kept for its repetition
MAX_FORWARDS_QUEUED = 10_000  # beyond it a forwarded request is answered REQUEST_TIMED_OUT at once

# Authorisation
MAX_BROKER_PRINCIPALS = 1_000  # logins that are known to be brokers'; more brokers than a cluster has

# Decisions
MAX_RESOURCES_PER_CHANGE = 10_000  # topics to create, delete or grow, or resources to configure, in one request
MAX_PARTITIONS_PER_TOPIC = 10_000
MAX_PARTITIONS_PER_REQUEST = 10_000  # new ones of all its topics, as in Kafka: a decision holds the loop

# Audit
MAX_AUDIT_EVENTS_QUEUED = 10_000  # more are dropped: the gap in `seq` shows it
MAX_AUDIT_BATCH_EVENTS = 64  # written at once, by the loop that serves requests

# Files
MAX_CONFIG_FILE_BYTES = 4_194_304  # a server.properties with keystores in it has tens of thousands
MAX_AWAITED_LOGS = 10_000  # places that are kept for logs that are not there yet
MAX_OPEN_SEGMENT_FILES = 512  # closed segments whose files stay open for reads

# Answers
MAX_METADATA_ANSWERS_KEPT = 16  # of "all topics": by version, listener and the controller that is shown

# Metrics
MAX_CLIENT_IDS_COUNTED = 1_000  # client ids with a row of their own
MAX_CLIENT_SOFTWARE_COUNTED = 200  # client software with a row of its own, by listener, name and version
MAX_CLIENT_SOFTWARE_LENGTH = 100  # characters of its name or version
