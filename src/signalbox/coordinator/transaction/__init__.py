"""Transactions (KIP-98, KIP-360, KIP-890): the state of transactional ids in one partition of `__transaction_state`.

Pure decisions: each API has its own file and returns records; `TransactionShard` replays them. Markers are sent by
`markers/`, after the decision to commit or abort is committed.
"""
