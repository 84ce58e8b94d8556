"""Transactions on the side of partition leaders: their verification with the transaction coordinator (KIP-890)."""
