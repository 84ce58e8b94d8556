"""OAuth access tokens: how a broker validates them (KIP-255, KIP-768), without a socket."""
