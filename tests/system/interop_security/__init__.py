"""Every security protocol and mechanism with every real client: `make interop-security` (SPEC L7)."""
