"""Each tenant's log: which entry is which leaf, the tree over them, and the checkpoints that were signed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Log(models.Model):
    """A tenant's log as far as it is sealed.

    ``edge`` is the hashes of the complete subtrees that ``size`` leaves decompose into, the largest first, 32 bytes
    each. ``origin`` names the log in every checkpoint and never changes, also when the desk moves to another address.
    What the nightly verification and the witness found stands in the columns that begin with their names.
    """

    class Verdict(models.TextChoices):
        UNKNOWN = "", "not verified yet"
        VERIFIED = "verified", "verified"
        EDITED = "edited", "an entry was edited"
        REMOVED = "removed", "an entry was removed"
        UNSEALED = "unsealed", "an old entry is not sealed"
        SUBTREE = "subtree", "a stored hash does not fit the entries"
        CHECKPOINT = "checkpoint", "a checkpoint does not fit the tree"
        SIGNATURE = "signature", "a checkpoint's signature does not verify"
        UNGUARDED = "unguarded", "the database does not refuse changes any more"

    tenant = models.CharField(max_length=40, unique=True)
    origin = models.CharField(max_length=200, unique=True)
    size = models.BigIntegerField(default=0)
    edge = models.BinaryField(default=b"")
    sealed_at = models.DateTimeField(null=True)

    pruned = models.BigIntegerField(default=0, help_text="Leaves before this one are not kept any more.")

    filed_size = models.BigIntegerField(default=0, help_text="Of the last checkpoint in the witness file.")
    witnessed_size = models.BigIntegerField(default=0)
    witnessed_at = models.DateTimeField(null=True)
    witness_tried_at = models.DateTimeField(null=True)
    witness_problem = models.CharField(max_length=40, blank=True)

    verify_due_at = models.DateTimeField(null=True, db_index=True)
    verifying_from = models.BigIntegerField(null=True, help_text="The next leaf of a verification that is under way.")
    verifying_to = models.BigIntegerField(null=True)
    verified_size = models.BigIntegerField(default=0)
    verified_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=16, choices=Verdict, default=Verdict.UNKNOWN, blank=True)
    verdict_leaf = models.BigIntegerField(null=True, help_text="The first leaf that the verdict is about.")

    class Meta:
        verbose_name = "log"
        default_permissions: ClassVar = ("view", "verify")

    def __str__(self) -> str:
        return self.origin


class Leaf(models.Model):
    """The place of an entry in its log: ``index`` is dense from 0, in the order of sealing.

    A table of its own, so that entries are never touched: one that commits late comes later, and none is missed.
    """

    pk = models.CompositePrimaryKey("log_id", "index")
    # Without a constraint, which would cost a fifth of sealing: the log's checkpoints, which are guarded, have one.
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    index = models.BigIntegerField()
    entry_id = models.BigIntegerField(unique=True)

    class Meta:
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"leaf {self.index}"


class Subtree(models.Model):
    """The hash of the complete subtree of ``256 ** level`` leaves, the ``number``-th of its level, level 1 and up.

    Written once, when it is complete. Hashes of leaves are not kept: they are rebuilt from the entries.
    """

    pk = models.CompositePrimaryKey("log_id", "level", "number")
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="+", db_index=False)
    level = models.SmallIntegerField()
    number = models.BigIntegerField()
    hash = models.BinaryField()

    class Meta:
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"subtree {self.level}/{self.number}"


class Checkpoint(models.Model):
    """A signed statement about the first ``size`` leaves (C2SP tlog-checkpoint): ``note`` is its exact text.

    Signed by every key of the ring, the current one first. ``cosignatures`` are the witness's lines, once it has seen
    it.
    """

    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="checkpoints", db_index=False)
    size = models.BigIntegerField()
    root = models.BinaryField()
    at = models.DateTimeField()
    note = models.TextField()
    cosignatures = models.TextField(blank=True, default="")

    class Meta:
        default_permissions: ClassVar = ("view",)
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["log", "size"], name="one_checkpoint_of_a_size"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["log", "at"], name="checkpoint_at"),  # from a time to a size
        ]

    def __str__(self) -> str:
        return f"{self.log_id}: {self.size}"


class Mark(models.Model):
    """How far the sealer has come: one row, which only sealers hold.

    Every entry up to ``through`` is sealed, and no number up to it can still appear. Up to ``reached``, only the
    transactions of ``writers`` can still bring some, each above its number (``audit.horizon``).
    """

    through = models.BigIntegerField(default=0)
    reached = models.BigIntegerField(default=0)
    writers = models.TextField(blank=True, default="", help_text="Virtual transactions, each with a number.")

    looked_to = models.BigIntegerField(null=True, help_text="How far a search for what sealing missed has come.")
    looked_at = models.DateTimeField(null=True, help_text="When the last search came to its end.")

    class Meta:
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"through {self.through}"


class Hourly(models.Model):
    """How often something happened in an hour, counted when it was sealed; charts and metrics are drawn from it.

    A prune keeps it. ``client_id`` 0 stands for none.
    """

    tenant = models.CharField(max_length=40)
    hour = models.DateTimeField()
    event = models.CharField(max_length=32)
    outcome = models.CharField(max_length=32, blank=True)
    rule = models.CharField(max_length=72, blank=True)
    provider = models.CharField(max_length=40, blank=True)
    client_id = models.BigIntegerField(default=0)
    count = models.BigIntegerField(default=0)

    class Meta:
        db_table = "audit_hourly"
        default_permissions: ClassVar = ()
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "hour", "event", "outcome", "rule", "provider", "client_id"], name="one_count_an_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} × {self.count}"
