"""OAuth access tokens: how a broker judges them (KIP-255, KIP-768), without a socket."""
