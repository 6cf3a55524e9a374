"""The pages of docs/: their fenced blocks, what is shown below them, and a reader who runs them one after another."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from prefect_servers import clean_environment

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOT_RUN = "Not run by the tests: "  # how the title of a block starts that needs what no test has
_BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]*)")?\n(?P<content>.*?)^```\n', re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block. below: the Markdown between its end and the next block or heading."""

    language: str
    title: str
    content: str
    below: str

    @property
    def is_run(self) -> bool:
        return self.language == "sh" and not self.title.startswith(NOT_RUN)


def blocks(markdown: str) -> list[Block]:
    """All of a page, in order."""
    found = list(_BLOCK.finditer(markdown))
    ends = [*(match.start() for match in found[1:]), len(markdown)]
    return [
        Block(match["language"], match["title"] or "", match["content"], markdown[match.end() : end].split("\n#")[0])
        for match, end in zip(found, ends, strict=False)  # a page without blocks has one end and no block
    ]


def page(name: str) -> list[Block]:
    return blocks((DOCS / f"{name}.md").read_text(encoding="utf-8"))


def expected_output(of: list[Block], number: int) -> str | None:
    """What a page shows as the output of its block: the ```text block that follows at once."""
    following = of[number + 1] if number + 1 < len(of) else None
    shown = following is not None and following.language == "text" and not of[number].below.strip()
    return following.content if following is not None and shown else None


def shows(expected: str, output: str) -> bool:
    """Whether the output is what a page shows: … stands for anything in a line, alone in a line for any lines.

    How wide columns are is not compared.
    """
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in _narrow(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _narrow(output))) is not None


def _narrow(text: str) -> list[str]:
    """Lines with runs of spaces and of rules as one."""
    return [" ".join(re.sub("─+", "─", line).split()) for line in text.splitlines()]


def table(markdown: str) -> list[list[str]]:
    """The cells of the first table, row by row, its head first; empty where there is none."""
    rows = [line.strip().strip("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.split("|")] for row in rows if set(row) - set("|-: ")]


@dataclass(frozen=True)
class Reader:
    """Types the blocks of pages into one shell, so to say: exported names stay from block to block.

    prefect: URL of a running server, so that no command starts its own.
    """

    folder: Path
    prefect: str

    def types(self, block: Block) -> "subprocess.CompletedProcess[str]":
        """What one block did, standard error among its output; at most five minutes."""
        kept = self.folder / "exported.sh"
        kept.touch()
        return subprocess.run(
            ["bash", "-c", f'set -euo pipefail; . "{kept}"; {block.content}\nexport -p > "{kept}"'],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    def _environment(self) -> dict[str, str]:
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in clean_environment().items() if not name.startswith("PRIVCERT_")}
        return kept | {"PATH": commands, "HOME": str(self.folder), "PREFECT_API_URL": self.prefect}
