"""Words before a full stop that does not end a sentence, and words that start one. Data, written by hand."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_END = _words(
    """
    mr mrs ms mx dr prof rev hon gen col capt lt sgt cmdr sen rep gov pres messrs mt mme mlle sra srta dra sig
    vs v viz cf approx ca e.g i.e eg ie incl excl resp bzw z.b d.h p.ej vgl
    """
)
"""What follows belongs to the sentence."""

MAY_END = _words(
    """
    st ft inc ltd co corp llc plc gmbh bros jr sr esq etc al dept est assn univ ave blvd rd hwy min max avg hr hrs
    tel ext usw u.a p.s phd ph.d
    """
)
"""They end a sentence only where a word follows that often starts one."""

BEFORE_NUMBER = _words(
    """
    no nos nr fig figs tab eq p pp vol ch sec art par ed jan feb mar apr jun jul aug sep sept oct nov dec
    """
)
"""A number that follows belongs to them."""

STARTERS = _words(
    """
    the this that these those it its he she they we you i there here our my his her their your a an one some many most
    few several all both no not every each in on at as by for from with to but and so or yet if when while after before
    since because although though however also then still only even what who how why guests users customers people
    """
)
"""Capitalised, they start a sentence far more often than they continue a name."""
