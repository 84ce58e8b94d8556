"""The transactional producer (KIP-98, 360, 447, 890): decisions in the manager, requests in the sender."""
