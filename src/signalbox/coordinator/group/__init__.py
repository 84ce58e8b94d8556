"""Consumer groups by the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and committed offsets.

Pure decisions over the state of one partition of `__consumer_offsets`; KIP-848 groups will be neighbours here.
"""
