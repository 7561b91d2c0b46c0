"""Crash runs: the desk's processes, its broker and its database are killed under load, and nothing may be lost."""
