"""Groups of the classic protocol: members, generations, rebalances."""
