"""The choices of a field, of one or of several: different texts, in one of the protocol's spellings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elicitation.policy.codes import Rule
from elicitation.policy.place import Place
from elicitation.policy.texts import Reader
from elicitation.policy.values import choices, count


def check_several(reader: Reader, field: Mapping[str, object], place: Place) -> None:
    """A choice of several is legal in the protocol and the operator's to allow; every other array is not."""
    here, items = place.key("items"), field.get("items")
    if isinstance(items, Mapping) and (items.get("type") == "object" or "properties" in items):
        reader.findings.add(Rule.FORM_NESTED, here)
        return
    if not isinstance(items, Mapping) or not ("enum" in items or "anyOf" in items) or "oneOf" in items:
        reader.findings.add(Rule.FORM_ARRAY, place)
        return
    if not reader.document.forms.multi_select:
        reader.findings.add(Rule.FORM_MULTI_SELECT, place)
    expected = {"type", "enum"} if "enum" in items else {"anyOf"}
    if set(items) != expected or items.get("type", "string") != "string":
        reader.findings.add(Rule.FORM_CHOICES_MALFORMED, here)
    check_choices(reader, items, here)
    fewest, offered = count(field.get("minItems")), choices(items)
    if fewest is not None and offered is not None and fewest > len(offered):
        reader.findings.add(Rule.FORM_BOUNDS, place.key("minItems"))


def check_choices(reader: Reader, field: Mapping[str, object], place: Place) -> None:
    """Judge the lists of a field or of an array's items; a field without any has no choices."""
    spellings = [keyword for keyword in ("enum", "oneOf", "anyOf") if keyword in field]
    if "enumNames" in field and "enum" not in field:
        reader.findings.add(Rule.FORM_CHOICES_NAMES, place.key("enumNames"))
    if len(spellings) > 1:
        reader.findings.add(Rule.FORM_CHOICES_MALFORMED, place)
    for keyword in spellings:
        here, listed = place.key(keyword), field[keyword]
        if not isinstance(listed, (list, tuple)) or not listed:
            reader.findings.add(Rule.FORM_CHOICES_MALFORMED, here)
        elif len(listed) > reader.document.forms.max_choices:
            reader.findings.add(Rule.FORM_TOO_MANY_CHOICES, here)
        elif keyword == "enum":
            _untitled(reader, field, listed, place)
        else:
            _titled(reader, listed, here)


def _untitled(reader: Reader, field: Mapping[str, object], listed: Sequence[object], place: Place) -> None:
    _labels(reader, listed, place.key("enum"))
    if "enumNames" not in field:
        return
    here, names = place.key("enumNames"), field["enumNames"]
    if not isinstance(names, (list, tuple)) or len(names) != len(listed):
        reader.findings.add(Rule.FORM_CHOICES_NAMES, here)
        return
    _distinct(reader, names, here)
    for index, name in enumerate(names):
        if isinstance(name, str):
            reader.bounded(name, here.index(index))
        else:
            reader.findings.add(Rule.FORM_CHOICES_NAMES, here.index(index))


def _titled(reader: Reader, listed: Sequence[object], here: Place) -> None:
    consts: list[object] = []
    titles: list[object] = []
    for index, item in enumerate(listed):
        title = item.get("title") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or set(item) != {"const", "title"} or not isinstance(title, str):
            reader.findings.add(Rule.FORM_CHOICES_MALFORMED, here.index(index))
            continue
        reader.bounded(title, here.index(index).key("title"))
        titles.append(title)
        consts.append(item["const"])
    _distinct(reader, titles, here)
    _labels(reader, consts, here)


def _labels(reader: Reader, values: Sequence[object], here: Place) -> None:
    """The values of a choice: different strings, each a text that a person may read."""
    if not all(isinstance(value, str) for value in values):
        reader.findings.add(Rule.FORM_CHOICES_MALFORMED, here)
    _distinct(reader, values, here)
    for index, value in enumerate(values):
        if isinstance(value, str):
            reader.bounded(value, here.index(index))


def _distinct(reader: Reader, texts: Sequence[object], here: Place) -> None:
    """No value twice, and no label: a person could not tell two choices apart."""
    strings = [text for text in texts if isinstance(text, str)]
    if len(set(strings)) != len(strings):
        reader.findings.add(Rule.FORM_CHOICES_DUPLICATE, here)
