"""privcert budget."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from flows.cli.options import EXACT, json_option
from flows.cli.output import present_home, print_json, print_table
from schemas.errors import UserError
from schemas.values import decimal_text, delta_of, epsilon_of, rho_of

if TYPE_CHECKING:
    from tasks.privacy.accounting import Loss


@click.group(name="budget")
def command() -> None:
    """Show, set and check privacy budgets.

    Example: privcert budget show reviews
    """


@command.command()
@click.argument("account", required=False)
@json_option
def show(account: str | None, as_json: bool) -> None:
    """What each account may spend, has spent and has left: epsilon, epsilon and delta, or rho, as its first cap said.

    Example: privcert budget show reviews --json
    """
    from flows.cli.summary import amounts_text, counted_spent
    from tasks.audits.results import line_facts
    from tasks.ledger.log import ReleaseLog

    lines = ReleaseLog(present_home()).budget_lines()
    chosen = [line for line in lines if account in (None, line.account)]
    if account is not None and not chosen:
        raise UserError(
            f"account: no account {account!r}; known: {', '.join(line.account for line in lines) or 'none'}"
        )
    rows = [line_facts(line) for line in chosen]
    if as_json:
        print_json({"accounts": rows})
    else:
        columns = ["account", "partition", "composition", "cap", "spent", "left"]
        cells = [
            [
                *(row["account"], row["partition"], row["composition"] or "none"),
                *(amounts_text(amounts) for amounts in (row["cap"], counted_spent(row), row["left"])),
            ]
            for row in rows
        ]
        print_table(columns, cells)


@command.command(name="set")
@click.argument("account")
@click.option("--epsilon", type=EXACT, help="Cap on epsilon, in nats.")
@click.option("--delta", type=EXACT, help="Cap on delta beside epsilon: the account then takes both kinds of release.")
@click.option("--rho", type=EXACT, help="Cap on rho of zCDP, alone.")
@click.option("--reason", help="Why; required to raise a cap. Public: it is chained.")
@json_option
def set_(account: str, epsilon: object, delta: object, rho: object, reason: str | None, as_json: bool) -> None:
    """Set the cap of an account, on purpose. Raising one needs a reason.

    The first cap decides for ever what the account adds up: epsilon (pure), epsilon and delta (approximate), or rho
    (zcdp).

    \b
    Examples:
      privcert budget set reviews --epsilon 8
      privcert budget set tickets --epsilon 8 --delta 0.00001
      privcert budget set prompts --rho 0.5
    """
    from flows.cli.summary import amounts_text
    from schemas.corpora import check_public_name
    from tasks.audits.publishing import publish_what_changed
    from tasks.ledger.log import ReleaseLog

    cap, home = _stated(epsilon, delta, rho), present_home()
    ReleaseLog(home).set_cap(
        check_public_name(account, "account"), cap["epsilon"], reason, delta=cap["delta"], rho=cap["rho"]
    )
    publish_what_changed(home)
    written = {name: decimal_text(amount) for name, amount in cap.items() if amount is not None}
    if as_json:
        print_json({"account": account, "cap": written})
    else:
        click.echo(f"{account}: cap {amounts_text(written)}")


@command.command()
@json_option
def check(as_json: bool) -> None:
    """Recompute the whole chain, every payload's hash and the head that the release zone knows.

    Example: privcert budget check
    """
    from tasks.ledger.log import ReleaseLog

    log = ReleaseLog(present_home())
    log.check()
    releases = len(log.release_keys())
    if as_json:
        print_json({"valid": True, "releases": releases})
    else:
        click.echo(f"the release log holds: {releases} releases, chain and payloads intact")


@command.command()
@click.option("--epsilon", type=EXACT, help="Charged for what was lost, in nats; needs --delta.")
@click.option("--delta", type=EXACT, help="Charged beside epsilon; 0 only if nothing that was lost had one.")
@click.option("--rho", type=EXACT, help="Charged to zcdp accounts; epsilon^2 / 2 where it is not said and delta is 0.")
@click.option("--reason", required=True, help="Why the log is behind its releases. Public: it is chained.")
@json_option
def accept_gap(epsilon: object, delta: object, rho: object, reason: str, as_json: bool) -> None:
    """After a restored backup: charge every account for the lost releases, and go on.

    Say what no account lost more of; each is charged the amounts that it adds up, and what an account adds up must be
    said. An account that comes back later, or a new one, can add up only what was said.

    \b
    Examples:
      privcert budget accept-gap --epsilon 2 --delta 0 --reason "log restored from Sunday's backup"
      privcert budget accept-gap --epsilon 2 --delta 0.00001 --rho 0.1 --reason "the same"
    """
    from flows.cli.summary import amounts_text
    from tasks.audits.publishing import publish_what_changed
    from tasks.ledger.log import ReleaseLog

    lost, home = _stated(epsilon, delta, rho, may_be_pure=True), present_home()
    ReleaseLog(home).accept_gap(lost["epsilon"], reason, delta=lost["delta"], rho=lost["rho"])
    publish_what_changed(home)
    written = {name: decimal_text(amount) for name, amount in lost.items() if amount is not None}
    if as_json:
        print_json({"charged": written})
    else:
        click.echo(f"charged {amounts_text(written)} to every account")


@command.command()
@click.argument("account", required=False)
@click.option("--audit", metavar="NAME|FILE", help="Audit definition; its account is looked at.")
@click.option("--epsilon", type=EXACT, help="Of one audit, in nats, where no definition says it.")
@click.option("--delta", type=EXACT, help="Of one audit, beside epsilon.")
@click.option("--rho", type=EXACT, help="Of one audit, for an account that counts rho.")
@click.option(
    "--every", help="year, quarter, month or day: one audit in each; default: the definition's grid, or month."
)
@click.option("--from", "first", help="Period of the first audit; default: the next that was not released.")
@json_option
def plan(
    account: str | None,
    audit: str | None,
    epsilon: object,
    delta: object,
    rho: object,
    every: str | None,
    first: str | None,
    as_json: bool,
) -> None:
    """How many more audits of one kind fit under the cap, and until when at one a month.

    \b
    Examples:
      privcert budget plan --audit quarterly
      privcert budget plan reviews --epsilon 0.5 --every month --from 2027-01
    """
    from schemas.audit import AuditSettings
    from schemas.building import build, read_settings_file
    from tasks.audits.budget_plan import (
        largest_partition,
        least_units,
        one_more_of,
        one_more_on,
        plan_facts,
        schedule_of,
    )
    from tasks.audits.catalogue import find_definition

    home, stated = present_home(), _stated(epsilon, delta, rho)
    if (audit is None) == (account is None):
        raise UserError("audit: give an ACCOUNT with the amounts of one audit, or --audit with a definition")
    if audit is not None and any(amount is not None for amount in stated.values()):
        raise UserError("epsilon: the definition says what one audit costs")
    settings = None
    if audit is not None:
        settings = build(AuditSettings, read_settings_file(find_definition(audit, home.private)))
    schedule = schedule_of(settings, home, every, first)
    lines = one_more_of(settings, home) if settings else one_more_on(str(account), _loss(stated), home)
    rows = [plan_facts(line, schedule) for line in lines]
    sizes = {
        "least_units": least_units(settings, home) if settings else None,
        "largest_partition": largest_partition(settings, home) if settings else None,
        "allow_vacuous": settings.allow_vacuous if settings else None,
    }
    if as_json:
        print_json({"lines": rows, **sizes})
    else:
        _print_plan(rows)
        _print_sizes(sizes)


def _loss(stated: dict[str, Decimal | None]) -> "Loss":
    """What one audit is charged. Raises UserError where neither epsilon nor rho is said."""
    from fractions import Fraction

    from tasks.privacy.accounting import Loss, pure_loss

    epsilon, delta, rho = stated["epsilon"], stated["delta"], stated["rho"]
    if epsilon is None and rho is None:
        raise UserError("epsilon: say what one audit costs: --epsilon E, with --delta D where it has one, or --rho R")
    if epsilon is not None and delta is None and rho is None:
        return pure_loss([Fraction(epsilon)])
    return Loss(Fraction(epsilon or 0), Fraction(delta or 0), None if rho is None else Fraction(rho))


def _print_plan(rows: list[dict[str, object]]) -> None:
    from flows.cli.summary import amounts_text

    for row in rows:
        charge, left = (amounts_text(row[name]) for name in ("charge", "left"))  # type: ignore[arg-type]
        fits = "any number of" if row["audits_that_fit"] is None else row["audits_that_fit"]
        click.echo(
            f"{row['account']} ({row['partition']}): {charge} for an audit of one partition, {left} left: {fits} more "
            f"audits fit{_until(row)}"
        )


def _until(row: Mapping[str, Any]) -> str:
    """Until when, at one audit in each period, or one of every partition that shares the line; what ends before."""
    if row["last"] is None:
        return ""
    which = "one" if row["partitions"] == 1 else f"one of each of {row['partitions']} partitions"
    until = f", {which} a {row['every']} from {row['first']} to {row['last']}"
    if row["last_period"] is None or row["last"] <= row["last_period"]:
        return until
    ends, audits = row["last_period"], row["declared_audits"]
    return f"{until}; but the definition ends before, with last_period {ends}: {audits} in all"


def _print_sizes(sizes: Mapping[str, Any]) -> None:
    """Of a definition: below how many units no statement has an even chance, and so nothing is asked."""
    least, largest = sizes["least_units"], sizes["largest_partition"]
    if least is None:
        return
    asked = "it is asked all the same (allow_vacuous)" if sizes["allow_vacuous"] else "it is skipped"
    click.echo(
        f"in a partition of fewer than {least:,} units no statement has an even chance of a certificate: {asked}"
    )
    if largest is not None and largest < least:
        click.echo(f"vacuous: no registered partition has that many; the largest has n = {largest:,}")


def _stated(epsilon: object, delta: object, rho: object, *, may_be_pure: bool = False) -> dict[str, Decimal | None]:
    """The amounts that were given, checked by name; may_be_pure: a delta of 0 is one too."""
    if may_be_pure and isinstance(delta, int | Decimal) and delta == 0:
        return {**_stated(epsilon, None, rho), "delta": Decimal(0)}
    return {
        "epsilon": None if epsilon is None else epsilon_of(epsilon, "epsilon"),
        "delta": None if delta is None else delta_of(delta, "delta"),
        "rho": None if rho is None else rho_of(rho, "rho"),
    }
