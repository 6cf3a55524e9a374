"""A pair as word pieces: joined as the checkpoint's own tokenizer joins it, the premise cut once or read in windows.

A statement is tokenised once into a frame (all of the pair but the premise), a premise once into pieces; a pair is one
frame around some of the pieces.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources.abc import Traversable

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from schemas.audit import PremiseWindows
from schemas.errors import UserError

MAX_PAIR_TOKENS = 384  # spec 1.9: joint length in word pieces; only the premise is cut
MIN_PAIR_TOKENS = 128  # of a model that says it reads less than MAX_PAIR_TOKENS
MAX_STATEMENT_TOKENS = 256  # two thirds, so that at least about 120 pieces of every record are read at once
MAX_TEXT_CHARACTERS = 100_000  # read of a text that is cut; 384 pieces of prose are some 2,000
MAX_WINDOWED_CHARACTERS = 1_000_000  # read of a text in windows: about 250,000 pieces, so that memory stays bounded
WINDOW_OVERLAP = 64  # pieces, of 384: evidence of up to 65 pieces in a row lies whole in some window
_LEAST_OVERLAP = 32
SURROGATE = re.compile("[\ud800-\udfff]")  # asked first: the tokenizer's own error would hold the text

_STATEMENTS_KEPT = 4096

Pieces = NDArray[np.int64]
Inputs = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Frame:
    """A statement with the special tokens of its pair.

    before, after: ids and token types of what stands before and after the premise, shape (2, pieces).
    premise_type: token type of the premise's pieces.
    pair_pieces: of the whole pair, at most.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    premise_type: int
    pair_pieces: int = MAX_PAIR_TOKENS

    @property
    def room(self) -> int:
        """How many pieces of a premise fit beside the statement."""
        return self.pair_pieces - int(self.before.shape[1]) - int(self.after.shape[1])

    def around(self, pieces: Pieces) -> Inputs:
        """The model's inputs for these pieces of a premise, each of shape (1, length of the pair)."""
        premise = np.stack([pieces, np.full_like(pieces, self.premise_type)])
        ids, types = np.concatenate([self.before, premise, self.after], axis=1)
        return {"input_ids": ids[None], "attention_mask": np.ones_like(ids)[None], "token_type_ids": types[None]}


class PairTokenizer:
    """Texts and statements to model inputs."""

    def __init__(self, path: Traversable, premise_windows: PremiseWindows, pair_pieces: int = MAX_PAIR_TOKENS) -> None:
        """path: the checkpoint's `tokenizer.json`. pair_pieces: of a pair, MIN_PAIR_TOKENS to MAX_PAIR_TOKENS.

        Raises ValueError where it adds no special tokens around a pair, or puts the statement first.
        """
        self._pair_pieces, self._statement_pieces = pair_pieces, pair_pieces * 2 // 3
        self._overlap = max(_LEAST_OVERLAP, pair_pieces // 6)
        self._tokenizer = load_tokenizer(path)
        self._windows = premise_windows is PremiseWindows.MAX
        self._read = MAX_WINDOWED_CHARACTERS if self._windows else MAX_TEXT_CHARACTERS
        self._probe = self._encode("a")
        self._frame_of(self._encode("b"))
        self._frames = lru_cache(_STATEMENTS_KEPT)(self._make_frame)

    def premise(self, text: str) -> Pieces:
        """Pieces of a text, as far as it is read. Raises ValueError for a text that is not valid Unicode."""
        if SURROGATE.search(text):
            raise ValueError("a text is not valid Unicode; ingestion sets such records aside")
        ids = self._encode(text[: self._read]).ids
        return np.asarray(ids if self._windows else ids[: self._pair_pieces], dtype=np.int64)

    def frame(self, statement: str) -> Frame:
        """The frame of a statement, made once while few others are asked.

        Raises UserError when it is empty, not Unicode or longer than two thirds of a pair.
        """
        return self._frames(statement)

    def _make_frame(self, statement: str) -> Frame:
        if SURROGATE.search(statement):
            raise UserError("a statement is not valid Unicode: remove its broken characters")
        encoding = self._encode(statement)
        if not encoding.ids:
            raise UserError("a statement is empty: remove it")
        if len(encoding.ids) > self._statement_pieces:
            raise UserError(f"a statement is longer than {self._statement_pieces} word pieces: shorten it")
        return self._frame_of(encoding)

    def inputs(self, premise: Pieces, frame: Frame) -> list[Inputs]:
        """The inputs of a pair, each as long as a pair may be: one, or one for each window of the premise."""
        starts = window_starts(len(premise), frame.room, self._overlap) if self._windows else [0]
        return [frame.around(premise[start : start + frame.room]) for start in starts]

    def facts(self) -> dict[str, str]:
        """Everything here that an input may depend on besides the pair and `tokenizer.json`, as public strings."""
        cut = f"premise only: {self._read} characters, then {self._pair_pieces} pieces for the pair"
        windows = (
            f"premise only, read in windows: {self._read} characters; {self._pair_pieces} pieces for the pair with "
            f"each window; a window starts {self._overlap} pieces before the end of the one before, the last one is as "
            "long as the others and ends with the text"
        )
        return {
            "tokenizer_build": f"tokenizers {tokenizers.__version__}, special tokens in texts read as plain text",
            "truncation": windows if self._windows else cut,
        }

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _frame_of(self, statement: Encoding) -> Frame:
        """What the tokenizer puts around a premise, seen on a short one."""
        pair = self._tokenizer.post_process(self._probe, statement)
        plain = np.flatnonzero(np.asarray(pair.special_tokens_mask) == 0)
        rows = np.asarray([pair.ids, pair.type_ids], dtype=np.int64)
        first, length = int(plain[0]), len(self._probe.ids)
        if len(plain) == len(pair.ids):
            raise ValueError("the model's tokenizer.json puts no special tokens around a pair")
        if [*rows[0, plain]] != [*self._probe.ids, *statement.ids]:
            raise ValueError("the model's tokenizer.json does not put the record before the statement")
        return Frame(rows[:, :first], rows[:, first + length :], int(rows[1, first]), self._pair_pieces)


def window_starts(pieces: int, room: int, overlap: int = WINDOW_OVERLAP) -> list[int]:
    """Where windows of `room` pieces start, so that they hold all `pieces`; the last one ends where the text ends.

    room: more than overlap.
    """
    last = max(pieces - room, 0)
    return [*range(0, last, room - overlap), last]


def load_tokenizer(path: Traversable) -> Tokenizer:
    """The tokenizer without truncation and padding, and with special tokens in a text read as plain text."""
    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # a record that contains "[SEP]" must not end its own premise
    return tokenizer
