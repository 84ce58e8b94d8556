"""SASL mechanisms as state machines: tokens in, tokens out, no socket and no clock."""
