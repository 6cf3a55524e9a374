"""How many more audits of one kind an account pays for, and until when: exact decimals, whole audits."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from schemas.audit import AuditSettings
from schemas.corpora import TimeGrid
from schemas.errors import UserError
from tasks.audits.backfill_plan import Asked, declared_scheme
from tasks.audits.vacuous import why_hopeless
from tasks.corpora.partitions import is_period, period_after, period_of
from tasks.ledger.amounts import exact_text
from tasks.ledger.budget import Line
from tasks.ledger.clock import today
from tasks.ledger.foreseen import Foreseen, Need
from tasks.ledger.log import ReleaseLog
from tasks.privacy.accounting import Composition, CompositionError, Loss, amounts
from tasks.storage.home import Home

_MOST_PERIODS = 10_000
_MOST_UNITS = 10**12


@dataclass(frozen=True, slots=True)
class Schedule:
    """One audit in each period of `every`, from the period `first` on.

    last_period: the last one that the definition declares; None where it has another grid, or none.
    """

    every: TimeGrid
    first: str
    last_period: str | None = None

    @property
    def declared(self) -> int | None:
        """How many periods there are until the last declared one; None where nothing says so."""
        if self.last_period is None:
            return None
        count, key = 0, self.first
        while key <= self.last_period and count <= _MOST_PERIODS:  # as they are written, earlier periods sort first
            count, key = count + 1, period_after(key, self.every)
        return count

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
    """One more audit, of one partition, on one line of an account.

    charge, left: by the parts that the account counts, exact. partitions: how many of the definition share the line,
    so that a round of audits is as many; those of a time grid come one after the other.
    """

    account: str
    line: str
    composition: Composition
    charge: dict[str, Fraction]
    left: dict[str, Fraction]
    partitions: int = 1

    @property
    def fits(self) -> int | None:
        """How often it fits; None where it costs nothing."""
        return min((int(self.left[name] // amount) for name, amount in self.charge.items() if amount), default=None)


def one_more_of(settings: AuditSettings, home: Home) -> list[OneMore]:
    """An audit of one partition on each line of its account; the periods of a time grid share one line."""
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
    each = {name: amount / need.audits for name, amount in need.needed.items()}  # all ask the same
    return OneMore(need.account, need.line, need.cap.composition, each, need.left, need.audits)


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
    declared = declared_scheme(settings).keys if settings is not None and settings.time_grid is grid else None
    last_period = None if declared is None else declared[-1]
    if first is not None:
        if not is_period(first, grid):
            raise UserError(f"from: write a {grid} as {period_of(today(), grid)}")
        return Schedule(grid, first, last_period)
    if settings is None or declared is None:
        return Schedule(grid, period_of(today(), grid))
    known = ReleaseLog(home).lineages(settings.corpus)
    released = [key for key, lineage in known.items() if lineage.was_released]
    return Schedule(grid, period_after(max(released), grid) if released else declared[0], last_period)


def least_units(settings: AuditSettings, home: Home) -> int:
    """The least n at which a statement that all units support has an even chance; n is public, the data are not asked.

    Raises UserError as an audit would, and where no n is enough.
    """
    asked = Asked.of(settings, home)
    least = bisect_left(range(1, _MOST_UNITS + 1), True, key=lambda n: why_hopeless(asked.question_of_size(n)) is None)
    if least == _MOST_UNITS:
        raise UserError("vacuous: no number of units is enough for this epsilon and theta; see `privcert plan`")
    return least + 1


def largest_partition(settings: AuditSettings, home: Home) -> int | None:
    """n of the largest partition that is registered in its newest version; None where none is."""
    return max((part.n for part in ReleaseLog(home).partitions(settings.corpus)), default=None)


def plan_facts(one: OneMore, schedule: Schedule) -> dict[str, object]:
    """One line: what an audit of one partition costs, what is left, how many fit, and the period of the last.

    last: of those that fit; declared_audits of them lie in declared periods, and all others beyond last_period.
    """
    declared = schedule.declared
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
        "last": None if one.fits is None else schedule.last_of(one.fits // one.partitions),
        "partitions": one.partitions,
        "last_period": schedule.last_period,
        "declared_audits": declared if declared is None or one.fits is None else min(declared, one.fits),
    }


def _grid(every: str) -> TimeGrid:
    try:
        return TimeGrid(every)
    except ValueError:
        raise UserError(f"every: must be {', '.join(TimeGrid)}") from None


def _texts(parts: dict[str, Fraction]) -> dict[str, str]:
    return {name: exact_text(amount) for name, amount in parts.items()}
