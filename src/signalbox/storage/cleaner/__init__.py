"""Log compaction: which log, which records, the rewriting of segments, the process that does it."""
