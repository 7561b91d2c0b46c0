"""The HTTP API, version 1: one decoder, keys and scopes, problem details, typed bodies."""
