"""Whether neighbours move nli-mini on long records: court cases cut to --characters, each against every statement.

The pairs are asked once, then with each text left out, shuffled and doubled, through the check that `privcert models
check` makes on few of them; verdicts and bits of logits are compared. Exit code 1 where one changes.

Example: python benchmarks/nli_stability.py SHARED --windows max
"""

import argparse
from pathlib import Path

import polars as pl

from schemas.audit import PremiseWindows
from tasks.support.checking import check_neighbours
from tasks.support.models import ModelReference, load_support_model

SUBJECTS = ("the police", "a detention", "a property", "a marriage", "a newspaper", "a hospital", "a tax", "a strike")


def main() -> None:
    """Print comparisons and what changed, by change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="Folder with data/tab_cases.parquet.")
    parser.add_argument("--windows", choices=list(PremiseWindows), type=PremiseWindows, default=PremiseWindows.MAX)
    parser.add_argument("--texts", type=int, default=16)
    parser.add_argument("--characters", type=int, default=2500)
    asked = parser.parse_args()
    cases = pl.read_parquet(asked.shared / "data" / "tab_cases.parquet")["text"].head(asked.texts)
    texts = [text[: asked.characters + 40 * place] for place, text in enumerate(cases)]  # no two of one length
    model = load_support_model(ModelReference("nli-mini", premise_windows=asked.windows))
    found = check_neighbours(model, texts, [f"The case is about {subject}." for subject in SUBJECTS])
    for change, compared in found.compared.items():
        print(f"{change:14s} {compared:6d} pairs compared, {found.flips[change]} flips")
    total, flips = sum(found.compared.values()), sum(found.flips.values())
    print(f"{'all':14s} {total:6d} pairs compared, {flips} flips, {found.changed_bits} with a changed bit")
    raise SystemExit(bool(flips or found.changed_bits))


if __name__ == "__main__":
    main()
