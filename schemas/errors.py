"""The one error that a user can mend. Everything else is a fault of ours."""


class UserError(Exception):
    """The user's settings, files or budget do not allow the request; nothing was spent.

    `str(error)` is one line that says what to change. It holds public values only (names of settings, columns,
    rules): never a text, an id, a count or a hash of private content.
    """


class StageError(Exception):
    """A fault of ours in one stage. `str(error)` names the stage and the run; it says nothing about the data."""
