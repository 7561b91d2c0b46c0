"""Kept checkpoints that lie in what a file leaves out, and the log's proofs that lead from them to the file's own."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from audit.verify import CouldNotRun, Format, Verdict, read_consistency
from elicitation.api.ledger_shapes import ConsistencyReply
from tests.audit.export_files import SINCE, Exporter, entry_line, judge

SIZE, KEPT = 23, 13
LEAVES = [entry_line(index) for index in range(SIZE)]
LOG = Exporter(LEAVES)
#: The same log, written anew by whoever has the keys.
ANEW = Exporter([*LEAVES[:9], entry_line(9, state_to="DECLINED"), *LEAVES[10:]])
SURVIVING = Exporter([*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=15)], pruned=15)

every_file = pytest.mark.parametrize("name", ["pack", *Format])


def written(log: Exporter, name: str) -> bytes:
    """A file in which leaves are left out on both sides of what a checkpoint of size 13 ends with."""
    return log.pack() if name == "pack" else Exporter(log.leaves, {3, 20}, SINCE).write(Format(name))


@every_file
def test_a_proof_leads_from_any_checkpoint_that_was_kept(name: str) -> None:
    for old in range(SIZE + 1):
        report = judge(written(LOG, name), kept=[LOG.checkpoint(old)], proofs=[LOG.consistency(old)])
        assert report.verdict is Verdict.SELECTION, (old, report)
        assert f"as it did in the checkpoints that you kept, the last of them of size {old}." in str(report)
        assert "another history" not in str(report)


@every_file
def test_without_the_proof_it_is_said_where_to_get_it(name: str) -> None:
    report = judge(written(LOG, name), kept=[LOG.checkpoint(KEPT)])
    assert (report.verdict, report.leaf) == (Verdict.NOT_COMPARED, KEPT)
    assert "with --consistency: /api/v1/checkpoints/consistency?old=13&new=23" in str(report)


@every_file
def test_another_history_has_no_proof(name: str) -> None:
    """The log proves what it can: that its own past led to its present."""
    report = judge(written(ANEW, name), kept=[LOG.checkpoint(KEPT)], proofs=[ANEW.consistency(KEPT)])
    assert report.verdict is Verdict.INCONSISTENT
    assert judge(written(ANEW, name), kept=[LOG.checkpoint(9)], proofs=[ANEW.consistency(9)]).verdict.good


@every_file
def test_a_proof_that_was_changed_is_none(name: str) -> None:
    content, proof = written(LOG, name), LOG.consistency(KEPT)
    for path in ((), proof.path[1:], proof.path[::-1], (*proof.path, proof.path[0])):
        report = judge(content, kept=[LOG.checkpoint(KEPT)], proofs=[replace(proof, path=path)])
        assert report.verdict is Verdict.INCONSISTENT
        assert (
            report.sentences[0] == "The proof does not lead from the checkpoint of size 13 that you kept to the file's."
        )
    report = judge(content, kept=[LOG.checkpoint(KEPT)], proofs=[replace(proof, path=()), proof])
    assert report.verdict is Verdict.SELECTION


@every_file
def test_a_proof_of_other_sizes_says_nothing(name: str) -> None:
    proof = LOG.consistency(KEPT)
    for other in (replace(proof, new=22), replace(proof, old=12), LOG.consistency(12)):
        report = judge(written(LOG, name), kept=[LOG.checkpoint(KEPT)], proofs=[other])
        assert report.verdict is Verdict.NOT_COMPARED


@every_file
def test_a_proof_does_not_stand_in_for_a_newer_file(name: str) -> None:
    shorter = Exporter(LEAVES[:22])
    report = judge(written(shorter, name), kept=[LOG.checkpoint()], proofs=[LOG.consistency(22)])
    assert report.verdict is Verdict.NOT_COMPARED
    assert "take a newer export" in str(report)


def test_what_was_kept_of_pruned_leaves_can_be_proven() -> None:
    content = SURVIVING.write(Format.JSONL)
    kept = [SURVIVING.checkpoint(KEPT)]
    assert judge(content, kept=kept).verdict is Verdict.NOT_COMPARED
    assert judge(content, kept=kept, proofs=[SURVIVING.consistency(KEPT)]).verdict is Verdict.VERIFIED


def test_the_apis_answer_is_taken_as_it_comes(tmp_path: Path) -> None:
    proof, path = LOG.consistency(KEPT), tmp_path / "proof.json"
    encoded = [base64.b64encode(each).decode() for each in proof.path]
    path.write_bytes(ConsistencyReply(old=proof.old, new=proof.new, proof=encoded).response().content)
    assert read_consistency(path) == proof


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"old":1,"new":2}', '{"old":"1","new":2,"proof":[]}', '{"old":1,"new":2,"proof":[1]}'),
        *('{"old":1,"new":2,"proof":["\u00e9"]}', '{"old":1,"new":2,"proof":{}}', "[" * 50_000, "\ud800"),
    ],
)
def test_what_is_no_answer_of_the_api_cannot_be_used(tmp_path: Path, content: str) -> None:
    path = tmp_path / "proof.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(CouldNotRun, match="not a consistency proof"):
        read_consistency(path)
