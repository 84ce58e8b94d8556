"""Consumer groups by the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and committed offsets.

Pure decisions on the state of one partition of `__consumer_offsets`. Groups of KIP-848 will be added beside them.
"""
