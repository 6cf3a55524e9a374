"""Where audit definitions lie: settings files of `privcert audit` under a name."""

from pathlib import Path

from schemas.errors import UserError

FOLDER = "audits"
_ENDINGS = (".yaml", ".yml")


def find_definition(named: str, private: Path) -> Path:
    """The file of a definition: a path that ends in .yaml, or a NAME in ./audits or in the private zone's audits/.

    Raises UserError where there is none, with the names that are known.
    """
    if named.endswith(_ENDINGS):
        return Path(named).absolute()
    folders = [Path(FOLDER).absolute(), private / FOLDER]
    found = {path.stem: path for folder in reversed(folders) for path in sorted(folder.glob("*.y*ml"))}
    if named not in found:
        known = f"known: {', '.join(sorted(found))}" if found else "there is none yet"
        raise UserError(f"audit: no definition {named!r} in ./audits or in private/audits of the home; {known}")
    return found[named]
