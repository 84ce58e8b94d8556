"""A topic that is filled while it may not be compacted, and compacted when it may: how far the log cleaner is."""

from __future__ import annotations

import itertools
from pathlib import Path

from bench.kafka.measurements import run_client
from bench.kafka.sides import Side, ask
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.storage.files.checkpoint_file import read_offsets
from signalbox.storage.files.file_names import CLEANER_OFFSET_FILE

_CLIENT = "bench.compaction.clients"
_TOPIC_RESOURCE, _SET = 2, 0
_NEVER_MS = str(10**12)
_HELD = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": _NEVER_MS,
}
_numbers = itertools.count()


class CompactedTopic:
    """One partition with one replica; `leader` has it. Created and filled with `megabytes` of records."""

    def __init__(self, side: Side, record_bytes: int, megabytes: int) -> None:
        self._side = side
        self.name = f"compacted-{next(_numbers)}"
        side.create_topic(self.name, 1, 1, _HELD)
        self.leader = side.leader(self.name)
        run_client(side, _CLIENT, side.bootstrap, self.name, record_bytes, megabytes)
        self._logs = sorted((self._log_dir / f"{self.name}-0").glob("*.log"))
        self.size_bytes = sum(path.stat().st_size for path in self._logs[:-1])

    @property
    def _log_dir(self) -> Path:
        return self._side.log_dirs[self.leader]

    def release(self) -> None:
        """The cleaner may begin: with all segments but the active one."""
        made = IncrementalAlterConfigsRequest
        config = made.AlterableConfig(name="min.compaction.lag.ms", config_operation=_SET, value="0")
        resource = made.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=self.name, configs=[config])
        answer = ask(self._side.controller, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, made(resources=[resource]))
        if answer.responses[0].error_code:
            raise RuntimeError(f"{self._side.name}: {answer.responses[0].error_message}")

    @property
    def is_clean(self) -> bool:
        """Whether the cleaner has checkpointed the end of what it could compact."""
        offsets = read_offsets(str(self._log_dir / CLEANER_OFFSET_FILE))
        return offsets.get(TopicPartition(self.name, 0), 0) >= int(self._logs[-1].stem)
