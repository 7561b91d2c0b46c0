"""The drill: fixed cases run against a policy and the transition table, with no client, server or network."""
