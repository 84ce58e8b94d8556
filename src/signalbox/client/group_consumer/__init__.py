"""A member of a consumer group, classic protocol (KIP-62, KIP-345, KIP-429): the group's leader assigns the partitions.

Bottom up: `member_subscription` reads and writes what members send each other through the coordinator, `range_assignor`
and `sticky_assignor` decide who gets which partition, `membership` decides what a response changes (all of them without
I/O). `group_requests` sends the requests, `rebalance` joins and syncs, `heartbeats` keeps the membership alive,
`committed_offsets` commits, and `group_consumer` is the API.
"""
