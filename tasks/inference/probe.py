"""A public prompt whose answer tells one language model from another, where its weights cannot be read.

Its tokens tell tokenizer and template; the bits of their log-probabilities tell weights, precision, build and kind of
machine, as long as no other request shares the computation.
"""

import hashlib
import struct

from tasks.inference.protocol import Message, Prompt, PromptLogProbabilities

PROBE = Prompt(
    "probe",
    (
        Message("system", "You count what a shop has in stock."),
        Message("user", "7 lamps, 12 chairs; Übermaß ≠ 0.5 m², 東京 №3 🪑\n\tHow many pieces of furniture are there?"),
        Message("assistant", "Nineteen: twelve of them are chairs."),
        Message("user", "And if two lamps are sold on 30 November?"),
    ),
)


def fingerprint_of_answer(answer: PromptLogProbabilities, *, with_numbers: bool) -> str:
    """SHA-256 (hex) over the token ids, and with_numbers also over the bits of their log-probabilities.

    The numbers are left out where requests share batches: their last bits then depend on the other requests.
    """
    digest = hashlib.sha256(struct.pack(f"<{len(answer.token_ids)}q", *answer.token_ids))
    if with_numbers:
        digest.update(struct.pack(f"<{len(answer.log_probabilities)}d", *answer.log_probabilities))
    return f"sha256 of {'tokens and log-probabilities' if with_numbers else 'tokens'} {digest.hexdigest()}"
