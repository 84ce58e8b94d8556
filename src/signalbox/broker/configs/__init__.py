"""Configs of brokers and topics, as clients see them."""
