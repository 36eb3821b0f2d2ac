"""Every error that coterie raises on purpose.

The tree (each also inherits the built-in error a caller would expect)::

    CoterieError
    ├── UsageError (ValueError)            a bad name, flag, field or value; the command line exits with code 2
    │   ├── NotationError                  a position or game record (FEN, PGN, SGF) that cannot be read; says where
    │   ├── UnknownArgument (TypeError)    a keyword argument that a game or an environment does not take
    │   ├── UnknownName                    no such game / model / scheme / agent; carries a suggestion
    │   └── MissingExtra (ImportError)     a feature needs an extra; gives the command that installs it
    ├── ActionError (ValueError)           an answer that cannot be played
    │   ├── InvalidAction                  not an action of this game at all
    │   ├── IllegalAction                  an action, but not now
    │   └── AmbiguousAction                could mean several actions
    ├── StateError (ValueError)            a state blob that is truncated, of another game or of another version
    ├── ModelError (ValueError)            a model that cannot be found, loaded or used as a causal language model
    ├── EngineError (RuntimeError)         an engine (for chess or a model) that crashed, hangs or answers nonsense
    ├── RunError (RuntimeError)            a run folder that cannot be read, written or resumed
    ├── CollapseError (RuntimeError)       training stopped itself: entropy, illegal share, KL or a non-finite loss
    └── PlayerLeft                         the person at the terminal left the game

Each message says what was given, why it does not work, and what to do instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "ActionError",
    "AmbiguousAction",
    "CollapseError",
    "CoterieError",
    "EngineError",
    "IllegalAction",
    "InvalidAction",
    "MissingExtra",
    "ModelError",
    "NotationError",
    "PlayerLeft",
    "RunError",
    "StateError",
    "UnknownArgument",
    "UnknownName",
    "UsageError",
    "did_you_mean",
    "needs",
]


def did_you_mean(name: str, known: Iterable[str], least: float = 0.5) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest other name at least ``least`` (0 to 1) similar, else ``""``."""
    names = set(known)
    close = [] if name in names else difflib.get_close_matches(name, names, n=1, cutoff=least)
    return f" Did you mean {close[0]!r}?" if close else ""


LONGEST = 4000
"""Most characters of a message: what came may be a file of any size."""


class CoterieError(Exception):
    """Root of the tree. The middle of a message of more than ``LONGEST`` characters is left out."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


class UsageError(CoterieError, ValueError):
    """A bad name, flag, field or value."""


class NotationError(UsageError):
    """A position or game record that cannot be read.

    Args:
        message: what is wrong, where, and what was expected.
        at: offset of the fault in the text, in characters, or None.
        read: what was read before the fault (moves, games); its type depends on the reader.
    """

    def __init__(self, message: str, at: int | None = None, read: object = None) -> None:
        super().__init__(message)
        self.at, self.read = at, read


class UnknownArgument(UsageError, TypeError):
    """A keyword argument that a game or an environment does not take; some libraries try one and expect TypeError."""


class UnknownName(UsageError):
    """A name that is not registered.

    Args:
        kind: what was looked up ("game", "model", "scheme", ...).
        name: the unknown name.
        known: the registered names.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        listed = ", ".join(names) if names else "none"
        super().__init__(f"Unknown {kind} {name!r}.{did_you_mean(name, names)} Known: {listed}.")
        self.kind, self.name, self.known = kind, name, names


class MissingExtra(UsageError, ImportError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs the package {package!r}. Type: pip install 'coterie[{extra}]'")


@contextmanager
def needs(feature: str, extra: str) -> Iterator[None]:
    """Context for imports of packages that an extra installs.

    Raises:
        MissingExtra: one of them is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtra(feature, error.name or "", extra) from None


class ActionError(CoterieError, ValueError):
    """An answer that cannot be played."""


class InvalidAction(ActionError):
    """Not an action of this game at all."""


class IllegalAction(ActionError):
    """An action of this game, but not one that can be played now."""


class AmbiguousAction(ActionError):
    """A text that could mean several actions."""


class StateError(CoterieError, ValueError):
    """A state blob that is truncated, of another game or of another version."""


class ModelError(CoterieError, ValueError):
    """A model that cannot be found, loaded or used as a causal language model."""


class EngineError(CoterieError, RuntimeError):
    """An engine (for chess or a model; often another process) that crashed, hangs or answers nonsense."""


class RunError(CoterieError, RuntimeError):
    """A run folder that cannot be read, written or resumed."""


class CollapseError(CoterieError, RuntimeError):
    """Training stopped itself because the policy collapsed or the loss is not finite."""


class PlayerLeft(CoterieError):
    """The person at the terminal left the game."""
