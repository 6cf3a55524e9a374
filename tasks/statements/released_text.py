"""A text that was released already, as a source of candidates: read, decoded, taken apart."""

import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from schemas.claims import RELEASED_TEXT, count_reasons
from schemas.errors import UserError
from tasks.statements.claims import Extraction, extract_claims, extractor

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_MARKS = 100  # on one letter; the time of Unicode normalisation grows with the square of it


@dataclass(frozen=True, slots=True)
class ReleasedText:
    """What was taken from a released text, and the SHA-256 (hex) of its bytes. All public, as the text is."""

    extraction: Extraction
    sha256: str

    def describe(self, origin: str) -> str:
        """One public line: which text, which rules, how many claims and rejects, and where it came from as declared."""
        claims, rejects = self.extraction.claims, self.extraction.rejects
        reasons = count_reasons(reject.reason for reject in rejects)
        return (
            f"{RELEASED_TEXT}, sha256 {self.sha256}; extractor {extractor()}: {len(claims)} claims, "
            f"{len(rejects)} rejects{f' ({reasons})' if reasons else ''}; declared origin: {origin}"
        )


def read_released_text(report: str) -> ReleasedText:
    """The claims of a UTF-8 file at a path or fsspec URL; bytes that are no UTF-8 make their sentence unreadable.

    Raises UserError when it cannot be read, is over 16 MiB, or piles more than 100 marks on a letter.
    """
    text, sha256 = read_text(report)
    return ReleasedText(extract_claims(text), sha256)


def read_text(report: str) -> tuple[str, str]:
    """The text at a path or fsspec URL, and the SHA-256 (hex) of its bytes. Raises UserError as above."""
    content = _read(report)
    return decode(content), hashlib.sha256(content).hexdigest()


def decode(content: bytes) -> str:
    """The text of these bytes; each byte that is no UTF-8 is a lone surrogate. Raises UserError as above."""
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    if not text.isascii() and _piled_marks().search(text):
        raise UserError(f"report: has more than {MAX_MARKS} combining marks in a row")
    return text


def _read(report: str) -> bytes:
    import fsspec  # late: only a report needs it

    if "::" in report:
        raise UserError("report: a chained URL (::) is not taken; give the path or the URL of the text itself")
    try:
        filesystem, path = fsspec.core.url_to_fs(report)
        is_file = filesystem.isfile(path)  # a pipe or a device would block, or never end
        with filesystem.open(path, "rb") if is_file else io.BytesIO() as file:
            content = bytes(file.read(MAX_FILE_BYTES + 1))
    except Exception:  # each file system has errors of its own, whose text may hold the URL's credentials
        raise UserError("report: cannot be read, or its file system is unknown or not installed") from None
    if not is_file:
        raise UserError("report: no such file, or it is no file")
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"report: is larger than {MAX_FILE_BYTES // 1024**2} MiB")
    return content


@cache
def _piled_marks() -> re.Pattern[str]:
    marks = "".join(chr(c) for c in range(0x300, 0x1F000) if unicodedata.combining(chr(c)))
    return re.compile(f"[{re.escape(marks)}]{{{MAX_MARKS + 1}}}")
