"""Exports of a sealed log: a walk over its leaves, written down in one of three formats, under a signed manifest."""
