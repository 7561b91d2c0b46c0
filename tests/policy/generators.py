"""Fast generators of URLs and forms: near what is admitted, and then spoiled. The same seed gives the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from tests.policy.asking import DESTINATION, document

ORIGINS = (
    "https://consent.example.com",
    "https://consent.example.com:8443",
    "https://xn--bcher-kva.example",
    "https://192.0.2.1",
    "https://[2001:db8::1]",
)
ANY_PATH = document(
    destinations=[{**DESTINATION, "origin": origin, "paths": ["/"], "opaque": ["parameter:state", "fragment"]}
                  for origin in ORIGINS]
)  # fmt: skip

_SCHEMES = ["https", "https", "https", "https", "HTTPS", "hTTps", "http", "javascript", "ftp", "", "data"]
_SEPARATORS = ["://", "://", "://", "://", "://", "://", ":", ":/", ":///", "//", ":\\\\", ":/\\"]
_HOSTS = ["consent.example.com", "consent.example.com", "consent.example.com", "Consent.EXAMPLE.com",
          "xn--bcher-kva.example", "XN--bcher-kva.example", "192.0.2.1", "[2001:db8::1]", "[2001:DB8::1]",
          "[2001:db8:0::1]", "192.0.2.01", "0xC0000201", "3221225985", "192.0.513", "evil.example",
          "consent.example.com.", "consent.example.com.evil.example", "", "consent%2eexample.com",
          "consent.examp\u0131e.com", "b\u00fccher.example", "a_b.example", "-a.example", "localhost", "xn--",
          "xn--a.example", "consent..example.com"]  # fmt: skip
_USERS = ["", "", "", "", "", "", "", "", "@", "a@", "a:b@", ":@", "consent.example.com@"]
_PORTS = ["", "", "", "", ":443", ":8443", ":", ":0443", ":65536", ":80", ":0", ":x", ":-1"]
_SEGMENTS = ["", "start", "ui", "here", ".", "..", "a.b", "%41", "%2e", "%2F", "%5c", "%C3%A9", "%ff", "%00", "~a",
             "a;b", "a,b", "(x)", "$&+", "a'b", "a:b", "a@b", "%zz", "%", "\u00e9", "{x}", "a|b", "^", "`", '"',
             "<a>", "%7e", "%7E"]  # fmt: skip
_QUERIES = ["flow=auth", "flow=token_exchange", "state=abc", "state=%2B%20+", "next=/here", "next=%2Fhere%3Fa%3Db",
            "flow=", "flow", "=auth", "flow=a%3Db", "fl%6fw=auth", "x=1", "flow=auth;x", "state=a'b", "state=%00",
            "state=\u00e9", "next=//evil.example", "next=https://evil.example/?otp=1", "state=a&state=b", "api_key=1",
            "e=7", "&", "#", "?", "state=%7B%7D", "state=!$()*,:@/?", "next=a@b.example"]  # fmt: skip
_FRAGMENTS = ["", "#", "#top", "#a?b/c", "#%41", "#a b", "#a#b", "#{x}", "#`"]
_NASTY = [*"\\@:/?#[]%.&=;+ \t\n\r\x00\x1f\x7f'\"<>^`{|}", "\u2028", "\u00e9", "\u3002", "\uff0f", "%2e", "//", "xn--"]


def urls(chance: Random, count: int) -> Iterator[str]:
    """URLs around the origins of :data:`ANY_PATH`: some are admissible, the others spoiled somewhere."""
    for _ in range(count):
        if chance.random() < 0.5:
            segments = [chance.choice(_SEGMENTS[:6]) if chance.random() < 0.3 else _letters(chance) for _ in range(2)]
            path = "/" + "/".join(segments[: chance.randrange(3)])
            query = "&".join(chance.sample(_QUERIES[:6], chance.randrange(3)))
            front, fragment = chance.choice(ORIGINS), ""
        else:
            path = "".join(f"/{chance.choice(_SEGMENTS)}" for _ in range(chance.randrange(4)))
            query = "&".join(chance.choice(_QUERIES) for _ in range(chance.randrange(3)))
            front = "".join(chance.choice(parts) for parts in (_SCHEMES, _SEPARATORS, _USERS, _HOSTS, _PORTS))
            fragment = chance.choice(_FRAGMENTS)
        url = f"{front}{path}{'?' + query if query else ''}{fragment}"
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            at = chance.randrange(len(url) + 1)
            url = url[:at] + chance.choice(_NASTY) + url[at + chance.randrange(2) :]
        yield url


def _letters(chance: Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789-._~", k=chance.randrange(1, 8)))


_NAMES = ["region", "size", "note", "count", "zone", "day", "colour", "e-mail", "f1", "x y", "", "Straße"]
_TEXTS = ["Region", "Where it runs", "How many", "", "eu", "Grün", "2026-02-28", "a@b.example"]
_ODD: list[object] = [None, True, 0, -1, 1.5, "", "string", [], {}, [None], {"type": "string"}, ["a", "a"], 10**15]
_KEYWORDS = ["title", "description", "default", "minLength", "maxLength", "minimum", "maximum", "format", "pattern",
             "enum", "enumNames", "oneOf", "anyOf", "allOf", "items", "minItems", "maxItems", "const", "nullable",
             "writeOnly", "$ref", "examples", "deprecated", "readOnly", "multipleOf", "x-order", "properties",
             "uniqueItems", "$comment", "type"]  # fmt: skip


def schemas(chance: Random, count: int) -> Iterator[dict[str, object]]:
    """Requested schemas: fields of every kind of the protocol, many with a keyword or a value that is odd."""
    for _ in range(count):
        properties = {chance.choice(_NAMES): _field(chance) for _ in range(chance.randrange(4))}
        schema: dict[str, object] = {"type": "object", "properties": properties}
        if chance.random() < 0.4:
            schema["required"] = chance.sample([*properties, "absent"], chance.randrange(len(properties) + 1))
        if chance.random() < 0.2:
            schema[
                chance.choice(["title", "$schema", "additionalProperties", "$defs", "x-order", "allOf", "required"])
            ] = chance.choice([*_ODD, False, "https://json-schema.org/draft/2020-12/schema", "Title"])
        yield schema


def _field(chance: Random) -> object:
    options = chance.sample(["eu", "us", "asia", "none", "Grün"], chance.randrange(1, 4))
    titled = [{"const": option, "title": option.title()} for option in options]
    kinds: list[Callable[[], dict[str, object]]] = [
        lambda: {"type": "string"},
        lambda: {"type": "string", "minLength": chance.randrange(6), "maxLength": chance.randrange(2, 9)},
        lambda: {"type": "string", "format": chance.choice(["email", "uri", "date", "date-time", "uuid"])},
        lambda: {
            "type": chance.choice(["number", "integer"]),
            "minimum": chance.randrange(5),
            "maximum": chance.randrange(9),
        },
        lambda: {"type": "boolean"},
        lambda: {"type": "string", "enum": options},
        lambda: {"type": "string", "enum": options, "enumNames": [option.title() for option in options]},
        lambda: {"type": "string", "oneOf": titled},
        lambda: {"type": "array", "items": chance.choice([{"type": "string", "enum": options}, {"anyOf": titled}])},
    ]
    field = chance.choice(kinds)()
    if chance.random() < 0.5:
        field["title"] = chance.choice(_TEXTS)
    if chance.random() < 0.3:
        field["default"] = chance.choice([*options, options, 3, 2.5, True, "abc", "2026-02-28", "a@b.example"])
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        field[chance.choice(_KEYWORDS)] = chance.choice([*_ODD, *_TEXTS, options, titled, 3])
    return field if chance.random() < 0.98 else chance.choice(_ODD)


def shuffled(chance: Random, value: object) -> object:
    """The same JSON value with the members of every object in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled(chance, value[name]) for name in names}
    return [shuffled(chance, item) for item in value] if isinstance(value, list) else value
