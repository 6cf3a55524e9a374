"""privcert models."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.cli.options import WholeRange, json_option, settings_options
from flows.cli.output import print_json, print_table
from schemas.audit import Device, PremiseWindows
from schemas.building import build
from schemas.engines import EngineMode, EngineSettings
from schemas.errors import StageError, UserError
from schemas.rounding import fixed, written

if TYPE_CHECKING:
    from tasks.support.checking import ModelCheck, Share
    from tasks.support.models import ModelReference
    from tasks.support.protocol import SupportModel

COUNT = WholeRange(1, 10**9)
_TO_PULL = "no: privcert models pull"


@click.group(name="models")
def command() -> None:
    """List, check and fetch the models that decide support.

    NAME is one of the list, OWNER/NAME@COMMIT of a hub, or a folder with model.onnx, tokenizer.json and config.json
    (./FOLDER).

    Example: privcert models check nli-mini
    """


@command.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """The models that --model takes, and whether each can be had without a network. None is loaded.

    Example: privcert models list --json
    """
    from tasks.support.catalogue import model_rows

    rows = list(model_rows())
    if as_json:
        print_json({"models": [asdict(row) for row in rows]})
        return
    missing = {"judge": "no: privcert engine install"}
    cells = [
        (row.name, row.kind, "yes" if row.available_offline else missing.get(row.kind, _TO_PULL), row.revision or "")
        for row in rows
    ]
    print_table(["name", "kind", "available offline", "revision"], cells)


@command.command()
@click.argument("name")
@click.option(
    "--pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Public labelled pairs: Parquet, CSV or JSONL with premise, hypothesis, label. [pairs of the package]",
)
@click.option("--domain", help="Domain whose words keyword reads; it answers the pairs with the domain's statements.")
@click.option(
    "--premise-windows",
    type=click.Choice([setting.value for setting in PremiseWindows]),
    default=PremiseWindows.TRUNCATE.value,
    show_default=True,
    help="What an NLI model reads of a long record.",
)
@click.option(
    "--device",
    type=click.Choice([device.value for device in Device]),
    default=Device.CPU.value,
    show_default=True,
    help="Where an NLI model computes.",
)
@click.option("--records", type=COUNT, help="Also say what a corpus of so many records costs.")
@click.option("--statements", type=COUNT, default=200, show_default=True, help="Statements of that corpus.")
@settings_options(EngineSettings)
@json_option
def check(
    name: str,
    pairs: Path | None,
    domain: str | None,
    premise_windows: str,
    device: str,
    records: int | None,
    statements: int,
    as_json: bool,
    **engine: object,
) -> None:
    """Answer labelled pairs with a model: how often it is right, whether neighbours move it, how fast it is.

    Needs no home; nothing is read but the pairs, which must be public: what is printed is not protected. Exit code 1
    when neighbours move it. A judge is checked one_by_one unless --engine-mode says batched.

    \b
    Examples:
      privcert models check nli-mini --records 5000 --statements 200
      privcert models check keyword --domain restaurant-reviews
      privcert models check ./my-model --pairs pairs.csv --premise-windows max
      privcert models check judge --engine-url http://127.0.0.1:8000 --language-model qwen3-8b
    """
    from tasks.support.checking import check_model
    from tasks.support.labelled import packaged_pairs, read_pairs
    from tasks.support.models import ModelReference, load_support_model

    labelled = packaged_pairs() if pairs is None else read_pairs(pairs)
    windows = PremiseWindows(premise_windows)
    reference = ModelReference(name=name, domain=domain, premise_windows=windows, device=Device(device))
    with _language_named(reference, build(EngineSettings, engine)) as named:
        model = load_support_model(named)
        facts = _facts(model, check_model(model, labelled)) | {"cost": None}
    if records is not None:
        asked = records * statements
        hours = round(asked / facts["pairs_per_second"] / 3600, 3)
        facts["cost"] = {"records": records, "statements": statements, "pairs": asked, "hours": hours}
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if facts["neighbour_flips"] or facts["changed_bits"]:
        raise StageError("check: what this model says of a record depends on other records; a release must not use it")


@command.command()
@click.argument("name")
@json_option
def pull(name: str, as_json: bool) -> None:
    """Fetch a model of a hub at its pinned commit, and load it once to see that it works.

    \b
    Examples:
      privcert models pull cross-encoder/nli-deberta-v3-base
      privcert models pull OWNER/NAME@0123456789abcdef0123456789abcdef01234567
    """
    from tasks.support.catalogue import pull_model
    from tasks.support.models import ModelReference

    pulled = pull_model(ModelReference(name=name))
    files = [{"path": str(path), "bytes": size} for path, size in pulled.files.items()]
    if as_json:
        print_json({"name": pulled.name, "revision": pulled.revision, "fetched": pulled.fetched, "files": files})
        return
    if pulled.revision is None:
        click.echo(f"{pulled.name}: comes with the package, nothing to fetch")
        return
    click.echo(f"{pulled.name} at {pulled.revision}: {'fetched' if pulled.fetched else 'was here'}")
    for file in files:
        click.echo(f"{file['bytes']:>14,} bytes  {file['path']}")


@contextmanager
def _language_named(reference: "ModelReference", engine: EngineSettings) -> Iterator["ModelReference"]:
    """The reference with the language model that the flags name, where it asks one; a server of ours ends after it."""
    if not reference.found_entry().asks_language_model:
        if engine != EngineSettings():
            raise UserError(f"engine: {reference.name} asks no language model; leave the flags of the engine out")
        yield reference
        return
    from tasks.inference.language import close_languages, language_reference
    from tasks.inference.protocol import EngineError
    from tasks.storage.home import default_home

    is_stable = engine.engine_mode is not EngineMode.BATCHED
    language = language_reference(engine, default_home() / "private", is_private=is_stable)
    with tempfile.TemporaryDirectory() as logs:
        try:
            yield replace(reference, language=replace(language, logs=Path(logs)))
        except EngineError as error:
            raise StageError(f"check: {error}") from None
        finally:
            close_languages()


def _facts(model: "SupportModel", found: "ModelCheck") -> dict[str, Any]:
    near = found.neighbours
    return {
        "name": model.name,
        "fingerprint": model.fingerprint,
        "description": dict(model.description),
        "pairs": found.accuracy.trials,
        "refused": found.refused,
        **_share("accuracy", found.accuracy),
        **_share("recall", found.recall),
        **_share("precision", found.precision),
        "neighbour_flips": sum(near.flips.values()),
        "neighbour_comparisons": sum(near.compared.values()),
        "flips_by_change": near.flips,
        "changed_bits": near.changed_bits,
        "pairs_per_second": near.pairs_per_second,
        "mean_characters": found.characters,
    }


def _share(name: str, share: "Share") -> dict[str, Any]:
    return {name: share.value, f"{name}_interval": list(share.interval), f"{name}_trials": share.trials}


def _print(facts: dict[str, Any]) -> None:
    click.echo(f"{facts['name']}, fingerprint {facts['fingerprint']}")
    for name, of in (("accuracy", "pairs"), ("recall", "supported pairs"), ("precision", "pairs found")):
        low, high = facts[f"{name}_interval"]
        interval = f"{fixed(written(low), 3, round_up=False)} to {fixed(written(high), 3, round_up=True)}"
        value = "none" if facts[name] is None else f"{facts[name]:.3f}"
        click.echo(f"{name:<16} {value} ({interval}, exact 95 %), of {facts[f'{name}_trials']} {of}")
    if facts["refused"]:
        click.echo(f"refused          {facts['refused']} pairs: their statements are not for this model")
    flips = ", ".join(f"{change.replace('_', ' ')} {count}" for change, count in facts["flips_by_change"].items())
    bits = "" if facts["changed_bits"] is None else f"; {facts['changed_bits']} with a changed bit"
    click.echo(
        f"neighbour flips  {facts['neighbour_flips']} of {facts['neighbour_comparisons']} verdicts ({flips}){bits}"
    )
    click.echo(
        f"speed            {facts['pairs_per_second']:.1f} pairs a second here, at {facts['mean_characters']:.0f} "
        "characters a record on average"
    )
    if facts["cost"] is not None:
        cost = facts["cost"]
        click.echo(
            f"cost             {cost['records']} records x {cost['statements']} statements = {cost['pairs']} pairs, "
            f"about {cost['hours']:g} hours here at that length"
        )
