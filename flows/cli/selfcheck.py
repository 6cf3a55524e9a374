"""privcert selfcheck."""

import os
from typing import TYPE_CHECKING

import click

from flows.cli.options import WholeRange, json_option
from flows.cli.output import print_json, print_table
from schemas.rounding import at_least, fixed

if TYPE_CHECKING:
    from tasks.privacy.empirical.audit import Finding

DRAWS = 8_000  # about 25 s on two slow cores


@click.command()
@click.option("--mechanism", help="Audit this one only; default all that a release may use.")
@click.option(
    "--draws",
    type=WholeRange(1_000, 10**8),
    default=DRAWS,
    show_default=True,
    help="Releases drawn from each dataset; five times as many where they are cheap.",
)
@click.option("--workers", type=WholeRange(1, 1024), help="Processes on this machine. [one a core]")
@json_option
def command(mechanism: str | None, draws: int, workers: int | None, as_json: bool) -> None:
    """Audit the noise of this installation against the privacy that it claims.

    Draws many releases on neighbouring made-up counts and prints, for each pair of neighbours, the claimed epsilon,
    delta and beta and what the draws prove about them, all together with confidence 1 - 1e-6. It can refute a claim,
    not prove it. Needs no home: nothing is read, released or charged. Exit code 1 when a claim is refuted.

    Example: privcert selfcheck --mechanism svt --draws 50000
    """
    from schemas.errors import StageError, UserError
    from tasks.privacy.empirical import MISS, audit
    from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS

    if mechanism is not None and mechanism not in RELEASE_MECHANISMS:
        wrong = (
            f"{mechanism} is for studies only and has no exact sampler"
            if mechanism in MECHANISMS
            else f"unknown mechanism {mechanism[:80]!r}"
        )
        raise UserError(f"mechanism: {wrong}; give one of {', '.join(RELEASE_MECHANISMS)}")
    names = list(RELEASE_MECHANISMS) if mechanism is None else [mechanism]
    try:
        findings = list(audit(names, draws, workers or _cores()))
    except ArithmeticError as error:  # the sampler's own accounting
        raise StageError(f"selfcheck: {error}") from None
    refuted = [_refutation(finding) for finding in findings if finding.refuted]
    if as_json:
        facts = [_facts(finding) for finding in findings]
        print_json({"passed": not refuted, "confidence": f"1 - {float(MISS):g}", "findings": facts})
    else:
        _print(findings)
    if refuted:
        raise StageError(f"selfcheck: refuted at confidence 1 - {float(MISS):g}: {'; '.join(refuted)}")


def _refutation(finding: "Finding") -> str:
    proved = {
        "epsilon": (finding.epsilon_at_least, finding.epsilon),
        "delta": (finding.delta_at_least, finding.delta),
        "beta": (finding.error_at_least, finding.beta),
    }
    wrong = [
        f"{name} at least {at_least(proved[name][0])}, claimed {float(proved[name][1]):g}" for name in finding.refuted
    ]
    return f"{finding.mechanism} ({finding.pair}): {', '.join(wrong)}"


def _facts(finding: "Finding") -> dict[str, object]:
    return {
        "mechanism": finding.mechanism,
        "pair": finding.pair,
        "draws": finding.draws,
        "epsilon": float(finding.epsilon),
        "epsilon_at_least": finding.epsilon_at_least,
        "share_of_epsilon": finding.share_of_epsilon,
        "delta": float(finding.delta),
        "delta_at_least": finding.delta_at_least,
        "beta": float(finding.beta),
        "error_at_least": finding.error_at_least,
        "error_at_most": finding.error_at_most,
        "refuted": finding.refuted,
    }


def _print(findings: list["Finding"]) -> None:
    rows = [
        (
            f"{finding.mechanism}: {finding.pair}",
            f"{fixed(finding.epsilon_at_least, 3, round_up=False)} of {float(finding.epsilon):g}",
            f"{fixed(finding.error_at_least, 4, round_up=False)} to {fixed(finding.error_at_most, 4, round_up=True)}",
            f"{float(finding.beta):g}",
            ", ".join(finding.refuted) or "nothing",
        )
        for finding in findings
    ]
    columns = ["mechanism: neighbours", "epsilon proved", "any C > N", "beta", "refuted"]
    print_table(columns, rows, "What real draws from both of two neighbouring datasets prove, of what is claimed")
    click.echo("made-up public counts: nothing was released about anybody, and nothing charged")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
