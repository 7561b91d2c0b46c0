"""There is one way to change a state, one clock, and one diagram: checked against the tree itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from elicitation.policy.lifecycle import TABLE, Event, State, diagram
from elicitation.services import move_many

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = sorted(
    path
    for folder in ("elicitation", "audit", "config")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
#: Where a row is made with its first state, and where a state is moved: by the ORM, and for many by one statement.
MAKES, MOVES, MOVES_MANY = (f"elicitation/services/{name}.py" for name in ("admission", "move", "move_many"))
#: Who else speaks SQL that writes: the triggers, what seals, prunes and copies the ledger out, and the benches, each in
#: a database of its own.
BENCHES = {f"elicitation/bench/{name}.py" for name in ("scratch", "sweep_desk", "ledger_desk", "seal_writer")}
LEDGER = {f"audit/{name}.py" for name in ("triggers", "seal", "retention", "retention_role", "exporting/rows")}
OTHERS = LEDGER | BENCHES
WRITES = re.compile(r"\b(INSERT INTO|MERGE INTO|DELETE FROM|TRUNCATE|COPY)\b|\bUPDATE\b(?!-)|\bSET\s+\w+\s*=", re.ASCII)


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def writes_of_state(tree: ast.AST) -> Iterator[ast.AST]:
    """Assignments to ``.state``, and ``state=`` given to anything that writes rows."""
    writers = {"update", "create", "update_or_create", "get_or_create", "bulk_update", "save", "F"}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        flat = [item for target in targets for item in (target.elts if isinstance(target, ast.Tuple) else [target])]
        if any(isinstance(target, ast.Attribute) and target.attr == "state" for target in flat):
            yield node
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in writers
            and any(keyword.arg == "state" for keyword in node.keywords)
        ):
            yield node


def docstrings(tree: ast.AST) -> set[int]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def statements_that_write(tree: ast.AST) -> list[str]:
    """Texts in the code, and the texts between the values of f-strings, that are SQL which changes rows."""
    prose = docstrings(tree)
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    return [text for text in texts if WRITES.search(text.replace("FOR UPDATE", ""))]


def is_in_init(tree: ast.AST, node: ast.AST) -> bool:
    """Exceptions and values may carry a state of their own."""
    return any(
        isinstance(function, ast.FunctionDef) and function.name == "__init__" and node in ast.walk(function)
        for function in ast.walk(tree)
    )


def test_move_alone_writes_a_state() -> None:
    writers = set()
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        if any(not is_in_init(tree, node) for node in writes_of_state(tree)):
            writers.add(names(path))
    assert writers == {MAKES, MOVES}


def test_admission_makes_rows_in_their_first_state_only() -> None:
    tree = ast.parse((ROOT / MAKES).read_text())
    (made,) = writes_of_state(tree)
    assert isinstance(made, ast.Call)
    (given,) = [keyword.value for keyword in made.keywords if keyword.arg == "state"]
    assert ast.unparse(given) == "State.ADMITTED"


def test_one_statement_alone_moves_many_and_nobody_else_writes_sql() -> None:
    writers = {names(path) for path in SOURCES if statements_that_write(ast.parse(path.read_text()))}
    assert writers == {MOVES_MANY} | OTHERS


def test_the_one_statement_makes_the_deadlines_move_and_no_other() -> None:
    """Its text, with every value in it, sets the state once, to the one state, from those that are live."""
    text = move_many.statement()
    assert re.findall(r"\bstate = ([^,\s]+)", text) == ["'EXPIRED'", "'RETRY_REQUIRED'"]
    assert re.findall(r"\bSET state = 'EXPIRED'", text) == ["SET state = 'EXPIRED'"]
    assert re.findall(r"\bstate IN \(([^)]*)\)", text) == ["'ADMITTED', 'CONSENT_PENDING', 'RETRY_REQUIRED'"]
    assert len(re.findall(r"\bUPDATE\b", text.replace("FOR UPDATE", ""))) == 1
    assert len(re.findall(r"\bINSERT INTO\b", text)) == 1


def test_no_raw_statement_and_no_row_is_saved_past_the_registry() -> None:
    for path in SOURCES:
        text = path.read_text()
        assert not re.search(r"elicitation_elicitation\b", text), names(path)
        assert not re.search(r"\b(entry|elicitation|last|row)\.save\(", text), names(path)


def test_one_clock_is_read_in_the_services() -> None:
    for path in SOURCES:
        if names(path).startswith("elicitation/services/") and path.name != "clock.py":
            assert not re.search(r"datetime\.now|timezone\.now|utcnow|time\.time", path.read_text()), names(path)


def test_no_signal_handler_and_no_save_hook_changes_anything() -> None:
    for path in SOURCES:
        text = path.read_text()
        if names(path).startswith("elicitation/"):
            # After a migration the roles are made anew; no row's change is listened to.
            assert not re.search(r"models\.signals import (?!post_migrate\n)", text), names(path)
            assert "from django.db.models import signals" not in text, names(path)
            assert not re.search(r"def (save|delete)\(self", text), names(path)


def test_the_readme_shows_the_table_as_it_is() -> None:
    shown = re.search(r"```mermaid\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == diagram(), "paste what `python -m elicitation.policy.lifecycle` prints"


def test_every_event_but_the_first_is_in_the_table_and_every_state_is_reached() -> None:
    assert {arrow.event for arrow in TABLE} == set(Event) - {Event.ADMIT}
    reached = {arrow.target for arrow in TABLE if arrow.target} | {State.ADMITTED}
    assert reached == set(State)
    ended = [arrow for arrow in TABLE if any(source.terminal for source in arrow.sources)]
    assert {arrow.target for arrow in ended} <= {None, State.COMPLETE}
