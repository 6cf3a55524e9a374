"""How long scoring takes, as an order of magnitude."""

from decimal import Decimal

# Pairs a second on two CPU cores, an order of magnitude: nli-mini as in the demo (9,940 pairs in 165 s with
# everything around), keyword below what long records gave (44,000), DeBERTa-v3-base at 128 tokens in fp32
PAIRS_PER_SECOND = {"cross-encoder/nli-deberta-v3-base": 6, "nli-mini": 60, "keyword": 20_000}


def scoring_hours(pairs: int, pairs_per_second: Decimal | int) -> float:
    """Hours at a rate > 0."""
    return round(pairs / float(pairs_per_second) / 3600, 3)
