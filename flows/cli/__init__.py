"""`privcert …`: one command a file; a command is imported only when it runs, so that --help answers at once."""

import importlib
import os
import sys

import click

COMMANDS = {
    "init": "Make a home for private corpora: keys, permissions, release log.",
    "demo": "Make a synthetic review corpus with known supports, and audit it.",
    "ingest": "Read and register a corpus without asking anything about it.",
    "audit": "Turn a corpus into certified statements, exactly once.",
    "backfill": "Audit every partition or corpus that was not yet, one audit each, in order.",
    "claims": "Show the claims of a released text, and what of it is no claim.",
    "plan": "What a release would certify, before any data is touched.",
    "study": "Simulate releases over a grid and many seeds, on public or synthetic data.",
    "models": "List, check and fetch the models that decide support.",
    "sql": "Run one read-only query on the release database.",
    "budget": "Show, set and check privacy budgets.",
    "report": "Open, build and export the HTML reports of releases.",
    "export": "Write the signed certificate file of a release.",
    "verify": "Check a certificate FILE without any data.",
    "engine": "Install vLLM in an environment of its own, and run a server of it.",
    "deploy": "Put the flows on the Prefect server of PREFECT_API_URL: work pools, deployments, schedules.",
    "up": "Run everything that schedules need on this machine.",
    "metrics": "Figures for the operator's Prometheus: budgets, runs and releases.",
    "warehouse": "Rebuild, check, find, push or pull the databases, which are projections of the release log.",
    "selfcheck": "Audit the noise of this installation against the privacy that it claims.",
    "version": "Print the version.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"flows.cli.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """Certified audits of private text.

    \b
    Example: privcert demo
    The home is PRIVCERT_HOME, or ~/.privcert.
    """


def main() -> None:
    """Run the command line: exit code 2 and one line for the user's fault, 1 for ours."""
    from schemas.errors import StageError, UserError

    os.umask(0o077)  # whatever is created, by us or by a library, is the operator's; the release zone is opened by name
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        _stop("stopped", 130)
    except click.ClickException as error:
        _stop(error.format_message(), 2)
    except UserError as error:  # its notes name what the terminal alone may know
        _stop("; ".join([str(error), *getattr(error, "__notes__", [])]), 2)
    except StageError as error:
        _stop(str(error), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # the text of an unforeseen error may hold private values: it is not printed
        if os.environ.get("PRIVCERT_DEBUG"):
            raise
        _stop(
            f"internal error ({type(error).__name__}): nothing more was charged than the release log says; "
            "PRIVCERT_DEBUG=1 shows the traceback",
            1,
        )


def _stop(line: str, code: int) -> None:
    click.echo(f"privcert: {' '.join(line.split())}", err=True)
    sys.exit(code)
