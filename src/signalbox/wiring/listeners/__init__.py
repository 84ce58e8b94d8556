"""A running node's listeners change (KIP-226): who judges a change, who obeys it, how certificates are renewed."""
