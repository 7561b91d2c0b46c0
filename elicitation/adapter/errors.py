"""What can go wrong between a tool and the desk. Each message can be shown to a person and holds no value of theirs."""

from __future__ import annotations

from elicitation.policy.answers import ContentFault


class AdapterError(Exception):
    """The base of everything that the adapter raises."""


class CannotAsk(AdapterError):
    """The session lacks what a question needs: an identity from MCP authorization, or a negotiated protocol."""


class DeskUnavailable(AdapterError):
    """The desk did not answer, or not in a way that can be read. Nothing was asked, or the answer is not used."""


class Refused(AdapterError):
    """The desk refused the call (4xx). ``code`` is stable; ``at`` is a JSON pointer into what was sent.

    ``state`` is the entry's present state where the refusal names it (``transition.refused``).
    """

    def __init__(self, status: int, code: str, detail: str, *, at: str = "", state: str = "") -> None:
        super().__init__(f"The elicitation desk refused the call: {detail} ({code})")
        self.status = status
        self.code = code
        self.at = at
        self.state = state


class Denied(Refused):
    """The policy or one of its limits denied the question; nobody was asked.

    ``rule`` is the rule that decided, ``source`` who wrote it (the protocol or the operator), ``advice`` what to do
    instead. It is never advice to ask for a secret in another way.
    """

    def __init__(
        self,
        status: int,
        rule: str,
        advice: str,
        *,
        at: str = "",
        source: str = "",
        decision_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(status, rule, advice, at=at)
        place = f" at {at}" if at else ""
        self.args = (f"The elicitation desk did not allow this question: {advice} (rule {rule}{place})",)
        self.rule = rule
        self.advice = advice
        self.source = source
        self.decision_id = decision_id
        self.retry_after = retry_after


class EvidenceWaiting(Refused):
    """The outside work of an earlier question may be done: an operator decides before anybody is asked again."""


class NoAnswer(AdapterError):
    """Nobody answered in time. This is not a refusal: the same operation may ask again."""

    def __init__(self) -> None:
        super().__init__(
            "Nobody answered in time. This is not a refusal; please call the tool again to be asked again."
        )


class ClientFailed(AdapterError):
    """The client answered with an error or went away. ``code`` is the JSON-RPC error code, where there was one."""

    def __init__(self, code: int | None = None) -> None:
        said = "went away" if code is None else f"answered with error {code}"
        super().__init__(f"The client {said} before the person answered; nothing was decided.")
        self.code = code


class MalformedAnswer(AdapterError):
    """The client's answer is not one the protocol knows, or its content does not fit the admitted schema.

    It changed nothing and is never read as a refusal. ``faults`` name places and keywords, never values.
    """

    def __init__(self, problem: str, faults: tuple[ContentFault, ...] = ()) -> None:
        places = "; ".join(f"{fault.at or '/'}: {fault.keyword}" for fault in faults)
        super().__init__(f"The client's answer cannot be used: {problem}" + (f" ({places})" if places else "") + ".")
        self.faults = faults
