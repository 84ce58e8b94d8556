"""Transactions: partitions and offsets join one, it ends; and what tools see of it."""
