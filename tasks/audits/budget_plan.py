"""How many more audits of one kind an account pays for, and until when: exact decimals, whole audits."""

from dataclasses import dataclass
from fractions import Fraction

from schemas.audit import AuditSettings
from schemas.corpora import TimeGrid
from schemas.errors import UserError
from tasks.audits.backfill_plan import Asked, declared_scheme
from tasks.corpora.partitions import is_period, period_after, period_of
from tasks.ledger.amounts import exact_text
from tasks.ledger.budget import Line
from tasks.ledger.clock import today
from tasks.ledger.foreseen import Foreseen, Need
from tasks.ledger.log import ReleaseLog
from tasks.privacy.accounting import Composition, CompositionError, Loss, amounts
from tasks.storage.home import Home

_MOST_PERIODS = 10_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """One audit in each period of `every`, from the period `first` on."""

    every: TimeGrid
    first: str

    def last_of(self, audits: int) -> str | None:
        """The period of the last of so many audits; None for no audit, and beyond 10,000 periods."""
        if not 0 < audits <= _MOST_PERIODS:
            return None
        key = self.first
        try:
            for _ in range(audits - 1):
                key = period_after(key, self.every)
        except OverflowError:  # the calendar ends with the year 9999
            return None
        return key


@dataclass(frozen=True, slots=True)
class OneMore:
    """One more audit on one line of an account. charge, left: by the parts that the account counts, exact."""

    account: str
    line: str
    composition: Composition
    charge: dict[str, Fraction]
    left: dict[str, Fraction]

    @property
    def fits(self) -> int | None:
        """How often it fits; None where it costs nothing."""
        return min((int(self.left[name] // amount) for name, amount in self.charge.items() if amount), default=None)


def one_more_of(settings: AuditSettings, home: Home) -> list[OneMore]:
    """An audit of this kind on each line of its account; the periods of a time grid share one line."""
    ReleaseLog(home).check_corpus(settings)
    asked = Asked.of(settings, home)
    keys = declared_scheme(settings).keys[: 1 if settings.units_recur else None]
    charges = [Foreseen(settings.account_name, settings.corpus, key, settings.units_recur, asked.loss) for key in keys]
    return [_of_need(need) for need in ReleaseLog(home).needs_of(charges)]


def one_more_on(account: str, loss: Loss, home: Home) -> list[OneMore]:
    """A charge that is stated, on each line that the account has."""
    lines = [line for line in ReleaseLog(home).budget_lines() if line.account == account]
    if not lines:
        raise UserError(f"account: no account {account!r}; see `privcert budget show`")
    return [_of_line(line, loss) for line in lines]


def _of_need(need: Need) -> OneMore:
    if need.cap is None:
        raise _no_cap(need.account)
    return OneMore(need.account, need.line, need.cap.composition, need.needed, need.left)


def _of_line(line: Line, loss: Loss) -> OneMore:
    if line.composition is None:
        raise _no_cap(line.account)
    if loss.epsilon == 0 and Composition(line.composition) is not Composition.ZCDP:
        raise UserError(f"rho: account {line.account} counts epsilon, of which rho says nothing; say --epsilon E")
    try:
        charge = amounts(loss, Composition(line.composition))
    except CompositionError as error:
        raise UserError(f"{error}; account {line.account} is {line.composition} for ever") from None
    left = {name: Fraction(getattr(line, name).left or 0) for name in charge}
    return OneMore(line.account, line.line, Composition(line.composition), charge, left)


def _no_cap(account: str) -> UserError:
    return UserError(f"no cap: account {account} has none, so nothing limits the audits; see `privcert budget set`")


def schedule_of(settings: AuditSettings | None, home: Home, every: str | None, first: str | None) -> Schedule:
    """As it is said; else the definition's grid from its first period that was not released, or months from now on.

    Raises UserError for a period that is not written as the grid wants it.
    """
    grid = _grid(every) if every is not None else ((settings and settings.time_grid) or TimeGrid.MONTH)
    if first is not None:
        if not is_period(first, grid):
            raise UserError(f"from: write a {grid} as {period_of(today(), grid)}")
        return Schedule(grid, first)
    if settings is None or settings.time_grid is not grid:
        return Schedule(grid, period_of(today(), grid))
    known = ReleaseLog(home).lineages(settings.corpus)
    released = [key for key, lineage in known.items() if lineage.was_released]
    return Schedule(grid, period_after(max(released), grid) if released else declared_scheme(settings).keys[0])


def plan_facts(one: OneMore, schedule: Schedule) -> dict[str, object]:
    """One line: what an audit costs, what is left, how many fit, and the last period that one fits in."""
    after = {name: one.left[name] - (one.fits or 0) * amount for name, amount in one.charge.items()}
    return {
        "account": one.account,
        "partition": one.line,
        "composition": str(one.composition),
        "charge": _texts(one.charge),
        "left": _texts(one.left),
        "audits_that_fit": one.fits,
        "left_after": _texts(after),
        "every": str(schedule.every),
        "first": schedule.first,
        "last": None if one.fits is None else schedule.last_of(one.fits),
    }


def _grid(every: str) -> TimeGrid:
    try:
        return TimeGrid(every)
    except ValueError:
        raise UserError(f"every: must be {', '.join(TimeGrid)}") from None


def _texts(parts: dict[str, Fraction]) -> dict[str, str]:
    return {name: exact_text(amount) for name, amount in parts.items()}
