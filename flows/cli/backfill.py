"""privcert backfill."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from flows.cli.options import EXACT, json_option, settings_options
from flows.cli.output import home_for, present_home, print_json
from flows.cli.progress import progress_bar
from flows.cli.server import server_named
from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.building import build, read_settings_file
from schemas.errors import StageError, UserError
from schemas.values import rate_of


@click.command()
@click.option("--audit", required=True, metavar="NAME|FILE", help="Audit definition: audits/NAME.yaml, or a YAML file.")
@settings_options(BackfillSettings)
@click.option("--dry-run", is_flag=True, help="Only say what is due and what it would cost; nothing is written.")
@click.option("--pairs-per-second", type=EXACT, help="Rate for the hours of --dry-run; default: as measured here.")
@json_option
def command(audit: str, dry_run: bool, pairs_per_second: object, as_json: bool, **flags: Any) -> None:
    """Audit every partition or corpus that was not yet, one audit each, in order.

    The same command again goes on where it stopped; what is sealed is skipped and costs nothing. The caps must suffice
    for all that is due, or nothing is begun. What has too few units for any certificate is left out, and said. Exit
    code 1: some audits failed, and the summary says which.

    \b
    Examples:
      privcert backfill --audit quarterly --dry-run
      privcert backfill --audit quarterly --from 2025-Q1 --to 2026-Q3 --parallel 2
      privcert backfill --audit audits/inbox.yaml --corpora "inbox/*.parquet"
    """
    from tasks.audits.catalogue import find_definition
    from tasks.storage.home import default_home

    path = find_definition(audit, default_home() / "private")
    definition, options = build(AuditSettings, read_settings_file(path)), build(BackfillSettings, flags)
    if dry_run:
        rate = None if pairs_per_second is None else rate_of(pairs_per_second, "pairs_per_second")
        _dry_run(definition, options, rate, as_json=as_json)
    else:
        _backfill(path, definition, options, as_json=as_json)


def _dry_run(definition: AuditSettings, options: BackfillSettings, rate: Decimal | None, *, as_json: bool) -> None:
    """Say what is due and what it would cost; refuse, at the end, what no cap, or too small a one, does not cover."""
    from flows.cli.survey_text import print_survey
    from tasks.audits.backfill_plan import Standing
    from tasks.audits.backfill_results import survey_facts
    from tasks.audits.backfill_survey import needs_of, surveyed, uncapped
    from tasks.audits.rates import Rate, expected_rate

    home = present_home()
    with surveyed(definition, options, home, may_lack_cap=True) as corpora:
        expected = Rate(rate, "given") if rate else expected_rate(home, corpora[0].asked.model.name)
        facts = survey_facts(corpora, needs_of(corpora, home), expected, uncapped(corpora, home))
        refused = [one.corpus for found in corpora for one in found.planned if one.standing is Standing.UNREADABLE]
    if as_json:
        print_json(facts)
    else:
        print_survey(facts)
    if facts["missing"] or facts["caps_needed"]:
        raise UserError("budget: the backfill would be refused, see above")
    if refused:
        raise StageError(f"the backfill would not be complete: {', '.join(refused)}, see above")


def _backfill(path: Path, definition: AuditSettings, options: BackfillSettings, *, as_json: bool) -> None:
    """Run the Prefect flow, and print what came of it also where some audits failed."""
    from flows.cli.backfill_text import print_backfill
    from tasks.audits.backfill_record import write_options
    from tasks.audits.backfill_results import backfill_results
    from tasks.audits.backfill_survey import preflight_all
    from tasks.audits.backfilling import IncompleteBackfillError
    from tasks.audits.prefect_environment import use_private_prefect
    from tasks.audits.run import open_run

    home = home_for(definition.visibility)
    preflight_all(definition, options, home)  # what is wrong with the request is said before a server starts
    use_private_prefect(home)
    options_file = write_options(home, options)
    incomplete: StageError | None = None
    with progress_bar(quiet=as_json), server_named():
        from flows.backfill_support import backfill_support

        try:
            backfill = backfill_support(str(home.root), str(path), str(options_file))
        except IncompleteBackfillError as error:
            backfill, incomplete = error.backfill, error
    results = backfill_results(open_run(str(home.root), backfill))
    if as_json:
        print_json(results)
    else:
        print_backfill(results)
    if incomplete is not None:
        raise incomplete
