"""The policy core: plain values in, decisions out. Standard library only; no clock, no randomness, no I/O."""
