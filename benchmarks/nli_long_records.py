"""What the packaged NLI model says of long records: by how many pieces it reads of a pair, truncated or in windows.

usage: nli_long_records.py SHARED [--records 24] [--pieces 128 384]

Records are news sentences put together at random, which support none of eight statements about reviews; and the same
with one review sentence among them, known to praise or to complain, against "The reviewer is satisfied." and
"The reviewer is dissatisfied.".
Prints shares of yes by the words of a record: to statements that nothing supports, to the right one, to the wrong one.
"""

import argparse
import json
import random
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from schemas.audit import PremiseWindows
from tasks.inference.encoder import EncoderFiles, PairEncoder
from tasks.support.nli import decide, nli_mini_files

WORDS = (30, 60, 90, 130, 200, 280)
UNSUPPORTED = (
    "The reviewer liked the food.", "The reviewer was unhappy with the service.", "The staff was friendly.",
    "The reviewer thinks the prices are too high.", "The reviewer had to wait for a long time.",
    "The reviewer would come back.", "The passenger had enough legroom.", "The customer asks for a refund.",
)  # fmt: skip
SATISFIED = ("The reviewer is satisfied.", "The reviewer is dissatisfied.")


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "shared", type=Path, help="Folder with data/c50_newswire.parquet, reviews_uci_sentences.parquet."
    )
    parser.add_argument("--records", type=int, default=24, help="Of each length; twice as many with a review sentence.")
    parser.add_argument("--pieces", type=int, nargs="+", default=[128, 384])
    asked = parser.parse_args()
    news, reviews = read_sentences(asked.shared / "data")
    print("| pieces, reading | " + " | ".join(f"{words} words" for words in WORDS) + " |")
    print("| --- |" + " --- |" * len(WORDS))
    for pieces in asked.pieces:
        for setting in PremiseWindows:
            encoder = encoder_reading(pieces, setting)
            cells = [measured(encoder, words, asked.records, news, reviews) for words in WORDS]
            print(f"| {pieces}, {setting} | " + " | ".join(cells) + " |", flush=True)


def read_sentences(data: Path) -> tuple[list[str], list[tuple[str, bool]]]:
    """Sentences of news, and review sentences with whether they praise; in an order of their own."""
    rng = random.Random(5)
    texts = pl.read_parquet(data / "c50_newswire.parquet", columns=["text"])["text"].to_list()
    rng.shuffle(texts)
    sentences = [line.strip() for text in texts[:400] for line in re.split(r"(?<=[.!?])\s+", text)]
    reviews = pl.read_parquet(data / "reviews_uci_sentences.parquet").select("text", "positive").rows()
    rng.shuffle(reviews)
    return [line for line in sentences if 40 < len(line) < 160], [(text, bool(good)) for text, good in reviews]


def encoder_reading(pieces: int, setting: PremiseWindows) -> PairEncoder:
    """The packaged model, told to read so many pieces of a pair."""
    folder = Path(tempfile.mkdtemp())
    for file in nli_mini_files().files:
        shutil.copyfile(str(file), folder / Path(str(file)).name)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_pair_pieces": pieces}))
    encoder = PairEncoder(EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", config), None, setting)
    shutil.rmtree(folder)
    return encoder


def measured(
    encoder: PairEncoder, words: int, records: int, news: Sequence[str], reviews: Sequence[tuple[str, bool]]
) -> str:
    """Shares of yes: to what nothing supports / to the right statement / to the wrong one."""
    rng, entailment = random.Random(words), encoder.labels.index("entailment")
    neutral = [" ".join(" ".join(some(rng, news, words)).split()[:words]) for _ in range(records)]
    mixed, praises = [], []
    for text, good in rng.sample(list(reviews), 2 * records):
        sentences = some(rng, news, words)
        sentences.insert(rng.randrange(len(sentences) + 1), text)
        mixed.append(" ".join(sentences))
        praises.append(good)
    unsupported = decide(encoder.logits(neutral, UNSUPPORTED), entailment).mean()
    said = decide(encoder.logits(mixed, SATISFIED), entailment)
    right = sum(said[row, 0 if good else 1] for row, good in enumerate(praises)) / len(praises)
    wrong = sum(said[row, 1 if good else 0] for row, good in enumerate(praises)) / len(praises)
    return f"{unsupported:.2f} / {right:.2f} / {wrong:.2f}"


def some(rng: random.Random, news: Sequence[str], words: int) -> list[str]:
    """Sentences of at least so many words together."""
    chosen: list[str] = []
    while sum(len(line.split()) for line in chosen) < words:
        chosen.append(rng.choice(news))
    return chosen


if __name__ == "__main__":
    main()
