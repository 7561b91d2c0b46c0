"""Signed notes, checkpoints and cosignatures: the examples of C2SP's texts, and everything that is none."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from audit import note
from audit.verify import (
    COSIGNATURE,
    ED25519,
    EMPTY_ROOT,
    BadSignature,
    Checkpoint,
    Malformed,
    Note,
    key_id,
    parse_checkpoint,
    parse_key,
    parse_note,
    parse_signature,
    verify_note,
)
from tests.audit.export_files import ORIGIN, RING, key_text

#: From C2SP signed-note, tlog-checkpoint and tlog-cosignature.
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
#: The same bytes as another kind of signature, with the id that they then have.
EXAMPLE_OTHER = b"\x02" + base64.b64decode(EXAMPLE_KEY.split("+")[2])[1:]
EXAMPLE_OTHER_ID = key_id("example.com/foo", 2, EXAMPLE_OTHER[1:]).hex()
EXAMPLE_OTHER_KEY = f"example.com/foo+{EXAMPLE_OTHER_ID}+{base64.b64encode(EXAMPLE_OTHER).decode()}"
EXAMPLE = (
    "This is an example message.\n"
    "\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
POEM = (
    "Ognuno sta solo sul cuor della terra\n"
    "trafitto da un raggio di sole:\n"
    "\n"
    "ed è subito sera.\n"
    "\n"
    "— quasimodo.example/salvatore "
    "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
)
SOFA = (
    "example.com/behind-the-sofa\n"
    "20852163\n"
    "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    "\n"
    "— example.com/behind-the-sofa "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "— witness.example.com/w1 "
    "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)
SAW_AT = 1679315147
WITNESS_SEED = bytes(range(2, 34))
CHECKPOINT = note.sign(note.checkpoint_text(ORIGIN, 3, bytes(32)), ORIGIN, RING)
KEYS = [parse_key(vkey) for vkey in key_text().split()]


def test_the_published_key_verifies_the_published_note() -> None:
    key, published = parse_key(EXAMPLE_KEY), parse_note(EXAMPLE)
    assert (key.name, key.key_id.hex(), key.algorithm) == ("example.com/foo", "530d903a", ED25519)
    assert published.text == "This is an example message.\n"
    assert verify_note(published, [key]) == [key]


def test_a_text_may_have_empty_lines() -> None:
    assert parse_note(POEM).text.endswith("sole:\n\ned è subito sera.\n")
    assert [signature.name for signature in parse_note(POEM).signatures] == ["quasimodo.example/salvatore"]


def test_the_published_checkpoint_is_read() -> None:
    published = parse_note(SOFA)
    root = base64.b64decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")
    assert parse_checkpoint(published.text) == Checkpoint("example.com/behind-the-sofa", 20852163, root)
    log, witness = published.signatures
    assert len(log.signature) == 64
    assert int.from_bytes(witness.signature[:8], "big") == SAW_AT


def test_a_checkpoint_is_signed_by_every_key_of_the_ring_the_current_one_first() -> None:
    """An auditor who has either key follows a rotation."""
    signed = parse_note(CHECKPOINT)
    assert [signature.key_id for signature in signed.signatures] == [key.key_id for key in KEYS]
    for key in KEYS:
        assert verify_note(signed, [key]) == [key]
    assert verify_note(signed, KEYS) == KEYS


def test_a_verifier_key_is_the_public_one_under_the_name_of_the_log() -> None:
    for key, seed in zip(KEYS, RING.values(), strict=True):
        public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
        assert (key.name, key.public) == (ORIGIN, public)
        assert key.key_id == sha256(ORIGIN.encode() + b"\n\x01" + public).digest()[:4]
        assert seed not in (key.public, key.key_id)


def test_signatures_of_unknown_keys_do_not_count() -> None:
    """Also where they share the name or the id with a known key, but not both."""
    stranger = parse_key(note.verifier_key(ORIGIN, bytes(32)))
    elsewhere = parse_key(note.verifier_key("desk.example.com/other", RING["current"]))
    assert verify_note(parse_note(CHECKPOINT), [stranger, elsewhere]) == []
    assert verify_note(parse_note(CHECKPOINT), []) == []


def test_a_key_that_signed_twice_signed_once() -> None:
    signed = parse_note(CHECKPOINT)
    assert verify_note(Note(signed.text, signed.signatures * 2), KEYS) == KEYS


def test_a_note_is_refused_when_a_known_keys_signature_does_not_hold() -> None:
    signed = parse_note(CHECKPOINT)
    changed = Note(signed.text.replace("3", "4", 1), signed.signatures)
    with pytest.raises(BadSignature) as refused:
        verify_note(changed, KEYS)
    assert refused.value.key == KEYS[0]
    first, second = signed.signatures
    broken = parse_signature(f"— {ORIGIN} {base64.b64encode(second.key_id + first.signature).decode()}")
    with pytest.raises(BadSignature):
        verify_note(Note(signed.text, (first, broken)), KEYS)


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "\n",
        "text\n",
        "text\n\n",
        "text — no line of its own\n",
        EXAMPLE.removesuffix("\n"),
        EXAMPLE.replace("\n\n", "\n"),
        EXAMPLE + "\n",
        EXAMPLE + "more text\n",
        EXAMPLE.replace("— ", "- "),
        EXAMPLE.replace("— ", "—"),
        EXAMPLE.replace("— example.com/foo ", "—  "),
        EXAMPLE.replace("example.com/foo", "example.com/f oo"),
        EXAMPLE.replace("example.com/foo", "example.com\u2003foo"),
        EXAMPLE.replace("example.com/foo", "example.com+foo"),
        EXAMPLE.replace("aQM=", "aQM"),
        EXAMPLE.replace("aQM=", "aQN="),
        EXAMPLE.replace("aQM=", "aQM= "),
        EXAMPLE.replace("/foo Uw2Q", "/foo U_2Q"),
        "text\n\n— example.com/foo Uw2QOg==\n",
        EXAMPLE.replace("message", "mess\x00age"),
        EXAMPLE.replace("message", "mess\tage"),
        EXAMPLE.replace("\n", "\r\n"),
        EXAMPLE.replace("message", "mess\ud800age"),
        EXAMPLE + EXAMPLE.splitlines(keepends=True)[-1] * 100,
    ],
)
def test_what_is_no_note_is_refused_without_saying_what_it_holds(malformed: str) -> None:
    with pytest.raises(Malformed) as refused:
        parse_note(malformed)
    assert "example" not in str(refused.value)


def test_sixteen_signatures_are_not_too_many() -> None:
    signature = EXAMPLE.splitlines(keepends=True)[-1]
    assert len(parse_note(EXAMPLE + signature * 15).signatures) == 16


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "example.com/foo",
        EXAMPLE_KEY.replace("+", "-"),
        EXAMPLE_KEY.replace("530d903a", "530d903b"),
        EXAMPLE_KEY.replace("530d903a", "530D903A"),
        EXAMPLE_KEY.replace("example.com/foo", "example.com/bar"),
        EXAMPLE_KEY.replace("example.com/foo", ""),
        EXAMPLE_KEY.replace("example.com/foo", "example.com /foo"),
        EXAMPLE_KEY + "AAAA",
        EXAMPLE_KEY[:-4],
        EXAMPLE_KEY.replace("+Aeky", "+Buky"),
        EXAMPLE_OTHER_KEY,
    ],
)
def test_what_is_no_verifier_key_is_refused(malformed: str) -> None:
    with pytest.raises(Malformed):
        parse_key(malformed)


ROOT_TEXT = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        f"{ORIGIN}\n3\n",
        f"{ORIGIN}\n3\n{ROOT_TEXT}",
        f"\n3\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n03\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n+3\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n-3\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n3 \n{ROOT_TEXT}\n",
        f"{ORIGIN}\n\u0663\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n3.0\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n{'9' * 5000}\n{ROOT_TEXT}\n",
        f"{ORIGIN}\n3\n{ROOT_TEXT[:-4]}\n",
        f"{ORIGIN}\n3\n{ROOT_TEXT.replace('A', '-')}\n",
        f"{ORIGIN}\n3\n{ROOT_TEXT}\n\nextension\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(malformed: str) -> None:
    with pytest.raises(Malformed):
        parse_checkpoint(malformed)


def test_extension_lines_of_a_checkpoint_say_nothing() -> None:
    assert parse_checkpoint(f"{ORIGIN}\n3\n{ROOT_TEXT}\nextension\n") == Checkpoint(ORIGIN, 3, bytes(32))


@given(st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_checkpoint_is_read_as_it_was_written(size: int, root: bytes) -> None:
    assert parse_checkpoint(note.checkpoint_text(ORIGIN, size, root)) == Checkpoint(ORIGIN, size, root)


def test_the_empty_log_has_a_checkpoint() -> None:
    assert note.checkpoint_text(ORIGIN, 0, EMPTY_ROOT).splitlines()[1] == "0"


@pytest.mark.parametrize(
    ("origin", "size", "root"),
    [("", 1, bytes(32)), ("two\nlines", 1, bytes(32)), (ORIGIN, -1, bytes(32)), (ORIGIN, 1, bytes(31))],
)
def test_no_checkpoint_is_made_that_could_not_be_read(origin: str, size: int, root: bytes) -> None:
    with pytest.raises(Malformed):
        note.checkpoint_text(origin, size, root)


@pytest.mark.parametrize(
    ("text", "name", "ring"),
    [
        ("no newline", ORIGIN, RING),
        ("text\n", "a name", RING),
        ("text\n", "a+b", RING),
        ("text\n", ORIGIN, {}),
        ("te\x00xt\n", ORIGIN, RING),
    ],
)
def test_nothing_is_signed_that_would_be_no_note(text: str, name: str, ring: dict[str, bytes]) -> None:
    with pytest.raises(Malformed):
        note.sign(text, name, ring)


def cosigned(checkpoint: str, *, name: str = "witness.example.com/w1", at: int = SAW_AT) -> tuple[str, str]:
    """A witness's line under a checkpoint, and its key."""
    key = Ed25519PrivateKey.from_private_bytes(WITNESS_SEED)
    public = key.public_key().public_bytes_raw()
    message = f"cosignature/v1\ntime {at}\n{parse_note(checkpoint).text}"
    identity = key_id(name, COSIGNATURE, public)
    signature = identity + at.to_bytes(8, "big") + key.sign(message.encode())
    material = base64.b64encode(bytes([COSIGNATURE]) + public).decode()
    return f"— {name} {base64.b64encode(signature).decode()}\n", f"{name}+{identity.hex()}+{material}"


def test_a_witness_tells_when_it_saw_the_checkpoint() -> None:
    line, key = cosigned(CHECKPOINT)
    other, _ = cosigned(CHECKPOINT, name="witness.example.com/w2")
    assert note.verify_cosignatures(CHECKPOINT, line, key) == SAW_AT
    assert note.verify_cosignatures(CHECKPOINT, other + line, key) == SAW_AT
    assert note.verify_cosignatures(CHECKPOINT, other, key) is None


def test_a_witness_vouches_for_no_other_checkpoint_and_no_other_time() -> None:
    line, key = cosigned(CHECKPOINT)
    other = note.sign(note.checkpoint_text(ORIGIN, 4, bytes(32)), ORIGIN, RING)
    with pytest.raises(BadSignature):
        note.verify_cosignatures(other, line, key)
    signature = bytearray(base64.b64decode(line.split(" ")[2]))
    signature[11] ^= 1
    with pytest.raises(BadSignature):
        note.verify_cosignatures(CHECKPOINT, f"— witness.example.com/w1 {base64.b64encode(signature).decode()}\n", key)


def test_a_time_that_no_clock_shows_is_refused() -> None:
    line, key = cosigned(CHECKPOINT, at=2**63)
    with pytest.raises(BadSignature):
        note.verify_cosignatures(CHECKPOINT, line, key)


@pytest.mark.parametrize("reply", ["", "conflict\n", "— witness.example.com/w1 AAAA\n"])
def test_a_reply_that_is_no_cosignature_is_refused(reply: str) -> None:
    _, key = cosigned(CHECKPOINT)
    with pytest.raises(Malformed):
        note.verify_cosignatures(CHECKPOINT, reply, key)


def test_a_logs_key_is_no_witnesss_and_a_witnesss_signs_no_log() -> None:
    line, witness = cosigned(CHECKPOINT)
    with pytest.raises(Malformed, match="witness"):
        note.verify_cosignatures(CHECKPOINT, line, key_text().split()[0])
    assert verify_note(parse_note(CHECKPOINT + line), [parse_key(witness)]) == []
