"""ACLs, SCRAM users and delegation tokens."""
