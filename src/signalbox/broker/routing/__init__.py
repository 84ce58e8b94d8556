"""What clients are told of nodes: addresses, versions, misroutes."""
