"""There is nowhere in the ledger's tables to put a free text: what each column is, as the database itself says it."""

from __future__ import annotations

from typing import Final

import pytest
from django.apps import apps
from django.db import connection, models

from audit import vocabulary, wording
from audit.models import LedgerEntry
from tests.builders import Desk

pytestmark = pytest.mark.django_db

#: Texts and bytes in the other tables of the ledger, and what each is made of.
TEXTS: Final = {
    "audit_log.tenant": "a slug",
    "audit_log.origin": "the desk's own host and the slug",
    "audit_log.edge": "hashes of the tree",
    "audit_log.witness_problem": "a code",
    "audit_log.verdict": "a code",
    "audit_subtree.hash": "a hash of the tree",
    "audit_checkpoint.root": "a hash of the tree",
    "audit_checkpoint.note": "origin, size, root and signatures",
    "audit_checkpoint.cosignatures": "signature lines of the witness's key, once they have been verified",
    "audit_mark.writers": "the database's own names of transactions",
    "audit_hourly.tenant": "a word of the ledger",
    "audit_hourly.event": "a word of the ledger",
    "audit_hourly.outcome": "a word of the ledger",
    "audit_hourly.rule": "a word of the ledger",
    "audit_hourly.provider": "a word of the ledger",
    "audit_export.format": "a code",
    "audit_export.event": "a word of the ledger",
    "audit_export.status": "a code",
    "audit_export.problem": "a code",
    "audit_export.digest": "a digest of a file",
    "audit_export.actor_kind": "a word of the ledger",
    "audit_export.actor_id": "a word of the ledger",
    "audit_export.role": "a word of the ledger",
    "audit_signal.tenant": "a slug",
    "audit_signal.rule": "a code",
    "audit_signal.about": "an id",
    "audit_signal.status": "a code",
    "audit_outgoing.channel": "a code",
    "audit_outgoing.status": "a code",
    "audit_outgoing.problem": "a code",
}
#: What holds no text, whoever writes it.
PLAIN: Final = (models.UUIDField, models.BooleanField, models.DateTimeField, models.IntegerField, models.ForeignKey)


def columns(table: str) -> dict[str, str]:
    """The columns of a table with the types that the database has for them."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
                [table],
            )
            return dict(cursor.fetchall())
        cursor.execute("SELECT name, type FROM pragma_table_info(%s)", [table])
        return dict(cursor.fetchall())


def is_text(kind: str) -> bool:
    return (
        kind.lower().startswith(("char", "varchar", "text", "json", "bytea", "blob", "xml", "hstore")) or "[]" in kind
    )


def test_each_column_of_an_entry_is_a_word_a_number_a_time_or_a_random_id() -> None:
    fields = {str(field.column): field for field in LedgerEntry._meta.concrete_fields}
    stored = columns(wording.TABLE)
    assert stored.keys() == fields.keys()
    for name, field in fields.items():
        if isinstance(field, models.CharField):
            assert stored[name].startswith(("varchar(", "character varying(")), name
            assert name in {*vocabulary.CLOSED, *vocabulary.SHAPED, "place"}, name
        else:
            assert isinstance(field, PLAIN), name
            # SQLite keeps a uuid as 32 characters, which a trigger of the alphabet holds as well.
            assert not is_text(stored[name]) or isinstance(field, models.UUIDField), name


def test_no_list_of_words_has_room_for_a_secret() -> None:
    """A key, a token, an address, a number of a card: none is a word of a list, or fits the shape of a column."""
    secrets = ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "eyJhbGciOi.J9x4.Zm9v", "alice@example.com", "4111 1111 1111 1111")
    for column in {*vocabulary.CLOSED, *vocabulary.SHAPED, "place"}:
        assert not any(vocabulary.admissible(column, secret) for secret in secrets), column


def test_every_text_in_the_other_tables_is_named_with_what_it_is_made_of() -> None:
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name.startswith("audit_")]
    models_of_audit = {model._meta.db_table for model in apps.get_app_config("audit").get_models()}
    assert set(tables) == models_of_audit
    uids = {f"{model._meta.db_table}.{field.column}" for model in apps.get_app_config("audit").get_models()
            for field in model._meta.concrete_fields if isinstance(field, models.UUIDField)}  # fmt: skip
    texts = {
        f"{table}.{name}"
        for table in tables
        if table != wording.TABLE
        for name, kind in columns(table).items()
        if is_text(kind)
    }
    assert texts - uids == set(TEXTS)


def test_nothing_that_a_person_is_called_is_in_the_ledger(desk: Desk) -> None:
    """No column repeats a name out of the tables that can be erased."""
    desk.admit()
    said = "\n".join(str(row) for row in LedgerEntry.objects.values())
    for name in ("x-client", "2.1", "alice", "id.example", "Acme", "Booking", "consent.example.com", "Pay the"):
        assert name not in said
