"""Lets the asserts of helper modules say what they compared."""

import pytest

pytest.register_assert_rewrite("tests.elicitation.invariants", "tests.elicitation.lives", "tests.elicitation.witness")
