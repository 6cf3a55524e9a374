"""The public lines about statements in a language model's words: who wrote them, asked what, and what was left out."""

from collections.abc import Mapping

from schemas.claims import BY_LANGUAGE_MODEL, RELEASED_TEXT, REWORDED, count_reasons
from tasks.statements.prompts import prompt_sha256
from tasks.statements.worded import RULES, Draft


def describe_proposal(draft: Draft, facts: Mapping[str, str], task: str, wanted: int, seed: int) -> str:
    """Of a proposal: the task ends it, as its user wrote it.

    facts: what the model says of itself. wanted: how many statements were asked for.
    """
    return (
        f"{BY_LANGUAGE_MODEL} from its task alone; {_rules()}: {len(draft.statements)} statements of {wanted} wanted, "
        f"{_rejects(draft)} in {draft.answers} answers; seed {seed}; {_model(facts)}; task: {task}"
    )


def describe_claims(draft: Draft, facts: Mapping[str, str], sha256: str, origin: str) -> str:
    """Of a released text whose bytes have this SHA-256: the origin ends it, as its user declares it."""
    return (
        f"{RELEASED_TEXT}, sha256 {sha256}; {REWORDED}, for whose words nobody vouches: "
        f"{len(draft.statements)} claims, {_rejects(draft)}; extractor {extractor(facts)}; declared origin: {origin}"
    )


def extractor(facts: Mapping[str, str]) -> str:
    """Rules, prompts and model that claims come from."""
    return f"{_rules()}, {_model(facts)}"


def _rules() -> str:
    return f"{RULES}, prompts sha256 {prompt_sha256()}"


def _rejects(draft: Draft) -> str:
    reasons = count_reasons(reject.reason for reject in draft.rejects)
    return f"{len(draft.rejects)} rejects{f' ({reasons})' if reasons else ''}"


def _model(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
