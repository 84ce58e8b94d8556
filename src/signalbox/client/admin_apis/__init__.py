"""The admin client's requests, one file per kind of resource."""
