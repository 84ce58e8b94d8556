"""The check of advertised addresses: which node responds at this broker's own addresses and at those of its peers."""
