"""privcert budget."""

import click

from flows.cli.options import EXACT, json_option
from flows.cli.output import present_home, print_json, print_table
from schemas.errors import UserError
from schemas.values import decimal_text, epsilon_of


@click.group(name="budget")
def command() -> None:
    """Show, set and check privacy budgets.

    Example: privcert budget show reviews
    """


@command.command()
@click.argument("account", required=False)
@json_option
def show(account: str | None, as_json: bool) -> None:
    """What each account may spend, has spent and has left, in nats.

    Example: privcert budget show reviews --json
    """
    from tasks.ledger.log import ReleaseLog

    lines = ReleaseLog(present_home()).budget_lines()
    chosen = [line for line in lines if account in (None, line.account)]
    if account is not None and not chosen:
        raise UserError(
            f"account: no account {account!r}; known: {', '.join(line.account for line in lines) or 'none'}"
        )
    rows = [
        {"account": line.account, "partition": line.line, "cap": line.cap, "spent": line.spent, "left": line.left}
        for line in chosen
    ]
    if as_json:
        print_json({"accounts": rows})
    else:
        columns = ["account", "partition", "cap", "spent", "left"]
        print_table(columns, [["none" if row[name] is None else row[name] for name in columns] for row in rows])


@command.command(name="set")
@click.argument("account")
@click.option("--epsilon", required=True, type=EXACT, help="Cap of the account, in nats.")
@click.option("--reason", help="Why; required to raise a cap. Public: it is chained.")
@json_option
def set_(account: str, epsilon: object, reason: str | None, as_json: bool) -> None:
    """Set the cap of an account, on purpose. Raising one needs a reason.

    Example: privcert budget set reviews --epsilon 8
    """
    from schemas.corpora import check_public_name
    from tasks.ledger.log import ReleaseLog

    cap = epsilon_of(epsilon, "epsilon")
    ReleaseLog(present_home()).set_cap(check_public_name(account, "account"), cap, reason)
    if as_json:
        print_json({"account": account, "cap": decimal_text(cap)})
    else:
        click.echo(f"{account}: cap {decimal_text(cap)}")


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
@click.option("--epsilon", required=True, type=EXACT, help="Charged to every account for what was lost, in nats.")
@click.option("--reason", required=True, help="Why the log is behind its releases. Public: it is chained.")
@json_option
def accept_gap(epsilon: object, reason: str, as_json: bool) -> None:
    """After a restored backup: charge every account for the lost releases, and go on.

    Example: privcert budget accept-gap --epsilon 2 --reason "log restored from Sunday's backup"
    """
    from tasks.ledger.log import ReleaseLog

    charge = epsilon_of(epsilon, "epsilon")
    ReleaseLog(present_home()).accept_gap(charge, reason)
    if as_json:
        print_json({"charged": decimal_text(charge)})
    else:
        click.echo(f"charged {decimal_text(charge)} to every account")
