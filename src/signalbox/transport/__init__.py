"""Reading and writing bytes: frames, receive buffers, send queues, TLS, the epoll set with a time budget.

This package knows no message by name. Inbound data connections and the sockets of replica fetchers are in the
`DataLoop`; control connections use `StreamChannel` on plain asyncio, and a client's connections `OutboundStream`. All
have the same interface (`frame_channel.py`), framer (`frame_reader.py`) and TLS (`tls_session.py`): decision 0038.
"""
