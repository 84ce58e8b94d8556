"""Bytes in motion, both directions: frames, receive buffers, send queues, TLS, the budgeted epoll set.

Nothing here knows a message by name. Inbound data connections and replica fetch sockets live in the `DataLoop`;
control traffic uses `StreamChannel` on plain asyncio. Both speak through the same interface (`frame_channel.py`).
"""
