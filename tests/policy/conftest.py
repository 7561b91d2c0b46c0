"""Generated inputs are the same in every run, and no slow machine fails one by its clock."""

from __future__ import annotations

from hypothesis import settings

settings.load_profile("steady")
