"""The measurements: each figure beside its peer or its limit, in the same run."""
