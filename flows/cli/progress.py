"""The progress bar of long commands."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[None]:
    """A bar on the terminal while a flow runs in this process; none when quiet, or when there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from tasks.audits.progress import listening

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=quiet or not console.is_terminal, transient=True
    ) as progress:
        bar = progress.add_task("start", total=1.0)
        with listening(lambda stage, share: progress.update(bar, description=stage, completed=share)):
            yield
