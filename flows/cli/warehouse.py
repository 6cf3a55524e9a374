"""privcert warehouse."""

from pathlib import Path

import click

from flows.cli.options import json_option
from flows.cli.output import present_home, print_json, release_zone_in_use, short


@click.group(name="warehouse")
def command() -> None:
    """Rebuild, check, find, push or pull the databases, which are projections of the release log.

    Example: privcert warehouse rebuild
    """


@command.command()
@json_option
def rebuild(as_json: bool) -> None:
    """Rebuild release.duckdb, operator.duckdb, certificates and reports from the release log.

    Example: privcert warehouse rebuild
    """
    from tasks.audits.publishing import rebuild_everything

    files = rebuild_everything(present_home())
    if as_json:
        print_json({"files": [str(path) for path in files]})
    else:
        click.echo("\n".join(short(path) for path in files))


@command.command()
@json_option
def check(as_json: bool) -> None:
    """Compare both databases with the release log and run their suites; nothing is written. Exit code 2 for a fault.

    Example: privcert warehouse check
    """
    from tasks.audits.publishing import check_warehouse

    checked = check_warehouse(present_home())
    if as_json:
        facts = [{"database": str(one.path), "state": one.state, "failed": one.failed} for one in checked]
        print_json({"valid": all(one.is_valid for one in checked), "databases": facts})
    else:
        for one in checked:
            click.echo("\n  ".join([f"{short(one.path)}: {one.state}", *one.failed]))
        if not all(one.is_valid for one in checked):
            click.echo("`privcert warehouse rebuild` builds both anew from the release log")
    if not all(one.is_valid for one in checked):
        raise SystemExit(2)


@command.command()
@click.option("--operator", is_flag=True, help="The operator's database (private) instead of release.duckdb.")
@json_option
def path(operator: bool, as_json: bool) -> None:
    """Print where the database lies, for tools that open DuckDB files; it may not be there yet.

    Example: duckdb -readonly $(privcert warehouse path)
    """
    from tasks.reporting.places import operator_database, release_database

    found = operator_database(present_home()) if operator else release_database(release_zone_in_use())
    if as_json:
        print_json({"path": str(found)})
    else:
        click.echo(str(found))


@command.command()
@click.argument("url")
@json_option
def push(url: str, as_json: bool) -> None:
    """Put release.duckdb at URL (s3, gs, az or abfs), for readers who pull it, and a signed manifest at URL.json.

    What the release log knows and the database does not is published first. Nothing else is handed on: no certificate
    file, no report.

    Example: privcert warehouse push s3://published/reviews/release.duckdb
    """
    from tasks.audits.publishing import push

    manifest = push(present_home(), url)
    facts = {"releases": manifest.releases, "chain_head": manifest.chain_head, "entries": manifest.entries}
    if as_json:
        print_json({"url": url, "signed_by": manifest.public_key, **facts})
    else:
        click.echo(url)
        _print_state(manifest.releases, manifest.chain_head, manifest.entries)
        click.echo(f"signed by   {manifest.public_key}")


@command.command()
@click.argument("url")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to; by default where `privcert sql` looks, in the release zone of PRIVCERT_HOME.",
)
@click.option("--key", help="Public key (hex) that you trust; without it nothing shows whose database it is.")
@click.option("--older", is_flag=True, help="Take it even where it does not go on from the one that is here.")
@json_option
def pull(url: str, output: Path | None, key: str | None, older: bool, as_json: bool) -> None:
    """Fetch a release database that was pushed to URL, check it, and put it in the place of the old one.

    One that is older than what is here, or of another history of the release log, is refused.

    \b
    Examples:
      privcert warehouse pull s3://published/reviews/release.duckdb --key 3b6a…
      privcert warehouse pull s3://published/reviews/release.duckdb --output copy.duckdb
    """
    from tasks.reporting.copies import place_for_pulled, pull_database
    from tasks.storage.home import default_home
    from tasks.storage.outputs import Kind, check_output

    target = place_for_pulled(default_home()) if output is None else output.absolute()
    check_output(target, Kind.DUCKDB)
    pulled = pull_database(url, target, key=key, older=older)
    signed = pulled.manifest
    if as_json:
        print_json(
            {
                "path": str(target),
                "releases": pulled.releases,
                "chain_head": pulled.origin["chain_head"],
                "entries": None if signed is None else signed.entries,
                "built_by": pulled.origin["product_version"],
                "signed_by": None if signed is None else signed.public_key,
                "verified": pulled.is_verified,
                "went_back": pulled.went_back,
            }
        )
        return
    click.echo(short(target))
    _print_state(pulled.releases, pulled.origin["chain_head"], None if signed is None else signed.entries)
    if signed is None:
        click.echo("signed by   not verified: nothing signed lies beside it")
    elif pulled.is_verified:
        click.echo(f"signed by   the trusted key, {signed.public_key}")
    else:
        click.echo(f"signed by   not verified: no --key; the file itself names {signed.public_key}")
    if pulled.went_back is not None:
        click.echo(f"--older     the database {pulled.went_back.replace('the one here', 'the one that was here')}")


def _print_state(releases: int, chain_head: str, entries: int | None) -> None:
    at = "" if entries is None else f" (entry {entries})"
    click.echo(f"releases    {releases}\nchain head  {chain_head}{at}")
