"""What support models make of one question: emitted, emitted without support, and how far they agree.

usage: support_models.py SHARED [--corpus reviews|chat|court] [--models keyword,nli-mini] [--records 300]
       [--statements 40] [--theta 0.05] [--epsilon 10]

SHARED holds data/reviews_absa.parquet, data/chat_prompts.parquet, data/tab_cases.parquet (public corpora). Each model
audits the same records with the same statements and budget, as `privcert audit` would; fresh noise each. EmitRate:
emitted of all. UnsupportedEmit: emitted of all, though the model itself finds less support than theta. The table of
pairs is the view agreement_between_models. `judge` needs the engine of `privcert engine install`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl

from schemas.audit import AuditSettings
from tasks.audits.preflight import model_reference
from tasks.audits.run import Run, begin_run, open_run, write_request
from tasks.audits.stages import run_audit, version_path
from tasks.storage.home import Home, initialise_home
from tasks.support.counts import support_counts
from tasks.support.models import load_support_model

CORPORA = {
    "reviews": ("reviews_absa", "text", "restaurant-reviews"),
    "chat": ("chat_prompts", "prompt", "chat-prompts"),
    "court": ("tab_cases", "text", "court-cases"),
}


def main() -> None:
    """Audit with each model, then print both tables."""
    asked = arguments()
    with tempfile.TemporaryDirectory() as folder:
        home = initialise_home(Path(folder) / "home", on_purpose=True)
        source = Path(folder) / "records.parquet"
        name, text, domain = CORPORA[asked.corpus]
        records = pl.scan_parquet(asked.shared / "data" / f"{name}.parquet")
        if asked.corpus == "reviews":
            records = records.filter(domain="restaurants")
        records.select(pl.col(text).alias("text")).head(asked.records).with_row_index("id").sink_parquet(source)
        print(f"{asked.corpus}: {asked.records} records, {asked.statements} statements, theta {asked.theta}")
        print("model            emitted  EmitRate  UnsupportedEmit  supported")
        for model in asked.models.split(","):
            report(home, audited(home, source, asked, domain, model))
        show_agreement(home)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--corpus", choices=CORPORA, default="reviews")
    parser.add_argument("--models", default="keyword,nli-mini")
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--statements", type=int, default=40)
    parser.add_argument("--theta", type=Decimal, default=Decimal("0.05"))
    parser.add_argument("--epsilon", type=Decimal, default=Decimal(10))
    return parser.parse_args()


def audited(home: Home, source: Path, asked: argparse.Namespace, domain: str, model: str) -> Run:
    """The finished run of one model."""
    settings = AuditSettings.model_validate(
        {
            "source": str(source),
            "corpus": asked.corpus,
            "visibility": "public",
            "domain": domain,
            "statements": asked.statements,
            "model": model,
            "epsilon": asked.epsilon,
            "theta": asked.theta,
            "max_characters": 10_000_000,
        }
    )
    run = open_run(str(home.root), begin_run(str(home.root), str(write_request(home, settings))))
    run_audit(run)
    return run


def report(home: Home, run: Run) -> None:
    """One line: what was emitted, and how much of it the model itself does not support."""
    model = load_support_model(model_reference(run.settings, home))
    partition, (statements, _) = run.partitions()[0], run.proposal()
    counts = support_counts(
        version_path(run, partition), statements, model.fingerprint, run.settings.unit_support, home
    )
    supported = {
        statement.statement_id
        for statement, count in zip(statements, counts, strict=True)
        if count >= run.settings.theta * partition.n
    }
    with opened(home) as connection:
        rows = connection.execute(
            "select statement_id from statements where model = ? and decision = 'emit'", [model.name]
        ).fetchall()
    emitted = {statement_id for (statement_id,) in rows}
    asked = len(statements)
    print(
        f"{model.name:16} {len(emitted):7} {len(emitted) / asked:9.3f} {len(emitted - supported) / asked:16.4f} "
        f"{len(supported):10}"
    )


def show_agreement(home: Home) -> None:
    """The emitted sets, pair by pair, and what is emitted by every model."""
    with opened(home) as connection:
        pairs = connection.execute(
            "select model_a, model_b, emitted_by_both, emitted_by_either, jaccard from agreement_between_models"
        ).fetchall()
        models, shared, union = _all_at_once(connection)
    print("pair                             both  either  Jaccard")
    for one, other, both, either, jaccard in pairs:
        print(f"{f'{one} and {other}':32} {both:4} {either:7}  {'none' if jaccard is None else f'{jaccard:.2f}'}")
    share = f"{shared / union:.3f}" if union else "none"
    print(f"emitted by any of {models}: {union}; by all of them: {shared} ({share})")


def _all_at_once(connection: duckdb.DuckDBPyConnection) -> Sequence[int]:
    row = connection.execute(
        """
        with emitted as (
            select statement_id, count(distinct model) as emitting
            from statements where decision = 'emit' group by statement_id
        ),
        models as (select count(distinct model) as models from statements)
        select models, count(*) filter (emitting = models), count(emitting)
        from models left join emitted on true
        group by models
        """
    ).fetchone()
    return row or (0, 0, 0)


def opened(home: Home) -> duckdb.DuckDBPyConnection:
    """The release database, for reading."""
    return duckdb.connect(str(home.release / "release.duckdb"), read_only=True)


if __name__ == "__main__":
    main()
