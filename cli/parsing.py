"""From a dataclass to the flags, the help and the errors of a command, with argparse.

Each field is a flag of its name (``from_`` is ``--from``), or a word in its place if its type is ``Positional``. Fields
that are dataclasses are sections of flags. Help texts and examples come from the docstrings.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import shutil
import textwrap
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as hints_of

from ..errors import UsageError, did_you_mean

__all__ = ["HELP", "Positional", "joined", "parse", "told"]

T = TypeVar("T")

Positional: TypeAlias = Annotated[T, "positional"]
"""The type of a field that is a word in its place instead of a flag."""

HELP: Final = ("-h", "--help", "--help-all")

PLACEHOLDERS: Final = {"preset": "NAME", "run": "RUN", "runs": "RUN", "out": "FOLDER", "room": "WHAT"} | {
    "clock": "TIME",
    **dict.fromkeys(("set", "start"), "NAME=VALUE"),
    **dict.fromkeys(("players", "who", "others", "vs", "eval_vs", "opponents", "teacher", "hints", "ask"), "PLAYER"),
}
"""What stands for a value in the help; by default X, N, FILE or the last word of the field's name."""

MEANT: Final = {
    "--episodes": "--games",
    "--gui": "--window",
    "--lr": "--learning-rate",
    "--opponent": "--vs",
    "--output": "--out",
    "--player": "--players",
    "--rank": "--lora-r",
    "--steps": "--updates",
    "--temp": "--temperature",
}
"""Flags that other programs have, and what they are called here."""

PLAINER: Final = {
    r"^argument ": "",
    r"expected one argument": "a value is missing",
    r"expected at least one argument": "a value is missing",
    r"ignored explicit argument .*": "this flag takes no value",
    r"the following arguments are required: (.*)": r"\1 is missing",
    r"unrecognized arguments: (.*)": r"\1: there is no such argument",
}
"""argparse's words, and ours."""


def parse(kind: Any, command: str, words: Sequence[str], default: Any = None, common: Collection[str] = ()) -> Any:
    """Parse the words into an instance of a dataclass.

    Args:
        kind: the dataclass.
        command: what the person typed after ``coterie``.
        words: what follows it.
        default: the instance whose values hold where the words name none; by default the dataclass has them.
        common: the fields that ``--help`` shows, while ``--help-all`` shows all; by default both show all.

    Raises:
        UsageError: a flag, a value or a word that does not fit.
        SystemExit: help was asked for, and printed.
    """
    asked = [word for word in HELP if word in words]
    parser = _Parser(f"coterie {command}", kind, default, () if "--help-all" in asked else common)
    if asked:
        print(parser.format_help(), end="")
        raise SystemExit(0)
    words = [re.sub("^--[^=]+", lambda flag: flag[0].replace("_", "-"), word) for word in words]
    for flag in (word.partition("=")[0] for word in words if word[:2] == "--" != word):
        if flag not in parser.flags:
            near = f" Did you mean {MEANT[flag]!r}?" if MEANT.get(flag) in parser.flags else ""
            near = near or did_you_mean(flag, parser.flags, 0.7)
            every = "--help-all" if common else "--help"
            raise UsageError(
                f"`coterie {command}` has no flag {flag!r}.{near} `coterie {command} {every}` lists them all."
            )
    given = vars(parser.parse_intermixed_args(words))
    return _filled(kind, default, {path: value for path, value in given.items() if value is not None})


def told(kind: Any) -> tuple[str, dict[str, str], list[str]]:
    """What a dataclass's docstring says: its text, a help for each field, and its examples."""
    text, *rest = re.split(r"^(Attributes|Args|Examples|Raises):\n", inspect.cleandoc(kind.__doc__ or ""), flags=re.M)
    parts = {name: textwrap.dedent(body) for name, body in zip(rest[::2], rest[1::2], strict=True)}
    fields = re.split(r"^(\w+): ", parts.get("Attributes", parts.get("Args", "")), flags=re.M)[1:]
    helps = {name: " ".join(body.split()) for name, body in zip(fields[::2], fields[1::2], strict=True)}
    return text.strip(), helps, parts.get("Examples", "").strip().splitlines()


@cache
def joined(doc: str, *kinds: tuple[Any, tuple[str, ...]]) -> Any:
    """A dataclass with this docstring and the fields of several, each without those named; they keep their helps."""
    fields: list[Any] = []
    for kind, without in kinds:
        hints, helps = hints_of(kind, include_extras=True), told(kind)[1]
        for field in dataclasses.fields(kind):
            if field.name not in without:
                usual: Any = {"default": field.default, "default_factory": field.default_factory}
                own = dataclasses.field(**usual, metadata={"help": helps.get(field.name, "")})
                fields.append((field.name, hints[field.name], own))
    return dataclasses.make_dataclass("Arguments", fields, frozen=True, kw_only=True, namespace={"__doc__": doc})


class _Parser(argparse.ArgumentParser):
    """The parser of a command. ``flags`` are all that it takes; its help shows the fields in ``common`` (none: all)."""

    def __init__(self, prog: str, kind: Any, default: Any, common: Collection[str]) -> None:
        width = min(shutil.get_terminal_size().columns, 100)
        text, _, examples = told(kind)
        paragraphs = [textwrap.fill(" ".join(part.split()), width) for part in text.split("\n\n")]
        super().__init__(
            prog,
            description="\n\n".join(paragraphs),
            add_help=False,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=width),
        )
        self._optionals.title = "flags"
        self._common, self._hidden = common, 0
        self._add(self, kind, default, "")
        places = self._get_positional_actions()
        shapes = {None: "{}", "?": "[{}]", "*": "[{} ...]", "+": "{} ..."}
        self.usage = " ".join([prog, *(shapes[a.nargs].format(a.metavar) for a in places), "[flags]"])  # type: ignore[index]
        more = f"{prog} {places[0].metavar} --help-all shows {self._hidden} more flags.\n" if common else ""
        self.epilog = "\n".join([more, "examples:", *(f"  {line}" for line in examples)]).strip() if examples else more

    @property
    def flags(self) -> Collection[str]:
        """All flags."""
        return [*HELP[1:], *self._option_string_actions]

    def error(self, message: str) -> NoReturn:
        """Refuse the words, in a sentence.

        Raises:
            UsageError: always.
        """
        for was, now in PLAINER.items():
            message = re.sub(was, now, message)
        raise UsageError(f"{message}{'' if message[-1] in '.?' else '.'} `{self.prog} --help` explains the arguments.")

    def _add(self, group: Any, kind: Any, default: Any, path: str) -> None:
        """Add the fields of a dataclass; ``path`` leads to it from the outermost one."""
        hints, helps = hints_of(kind, include_extras=True), told(kind)[1]
        for field in dataclasses.fields(kind):
            hint, placed = _bare(hints[field.name])
            usual = getattr(default, field.name, field.default)
            if dataclasses.is_dataclass(hint):
                section = self.add_argument_group(f"{field.name}: {told(hint)[0].partition('.')[0]}")
                self._add(section, hint, usual, f"{path}{field.name}.")
                continue
            name, many = field.name.rstrip("_").replace("_", "-"), get_origin(hint) is tuple
            help = _with_default(field.metadata.get("help") or helps.get(field.name, ""), None if placed else usual)
            if self._common and not placed and field.name not in self._common:
                help, self._hidden = argparse.SUPPRESS, self._hidden + 1
            more: dict[str, Any] = {"dest": path + field.name, "help": help}
            if hint is bool:
                group.add_argument(f"--{'no-' * bool(usual)}{name}", action=f"store_{str(not usual).lower()}", **more)
                same = more | {"help": argparse.SUPPRESS}  # says what holds anyway
                group.add_argument(
                    f"--{'' if usual else 'no-'}{name}", action=f"store_{str(bool(usual)).lower()}", **same
                )
                continue
            read, short = _reader(get_args(hint)[0] if many else hint)
            more |= {"type": read, "metavar": PLACEHOLDERS.get(field.name, short or name.rpartition("-")[2].upper())}
            needed = usual is dataclasses.MISSING
            if placed:
                nargs = ("+" if needed else "*") if many else (None if needed else "?")
                group.add_argument(more.pop("dest"), nargs=nargs, default=argparse.SUPPRESS, **more)
            else:
                group.add_argument(f"--{name}", **more, **({"nargs": "*", "action": "extend"} if many else {}))


def _bare(hint: Any) -> tuple[Any, bool]:
    """A type without ``Annotated`` and ``None``, and whether it is a positional one."""
    placed = get_origin(hint) is Annotated and "positional" in get_args(hint)[1:]
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    return hint, placed


def _reader(hint: Any) -> tuple[Callable[[str], Any], str]:
    """What reads a value of a type from a word, and its placeholder ("": the field's name)."""
    if get_origin(hint) is Literal:
        known = [str(one) for one in get_args(hint)]
        return lambda word: _one_of(word, known), f"{{{','.join(filter(None, known))}}}"
    what, placeholder = {int: ("a whole number", "N"), float: ("a number", "X"), Path: ("", "FILE")}.get(hint, ("", ""))

    def read(word: str) -> Any:
        try:
            return hint(word)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{word!r} is not {what}") from None

    return read, placeholder


def _one_of(word: str, known: Sequence[str]) -> str:
    if word in known:
        return word
    named = [one for one in known if one]
    raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(named)}.{did_you_mean(word, named)}")


def _with_default(help: str, usual: Any) -> str:
    """A help with the default behind it, unless that is nothing."""
    words = " ".join(map(str, usual)) if isinstance(usual, tuple) else usual
    shown = f"{words:g}" if isinstance(words, float) else words
    nothing = shown in (None, "", 0, dataclasses.MISSING) or isinstance(usual, bool)
    return (help if nothing else f"{help.rstrip('.')} (default: {shown}).").replace("%", "%%").replace("``", "")


def _filled(kind: Any, default: Any, given: Mapping[str, Any]) -> Any:
    """An instance of ``kind``: ``default`` with the given values, by their paths."""
    values: dict[str, Any] = {name: v for name, v in given.items() if "." not in name}
    hints = hints_of(kind)
    for section in {name.partition(".")[0] for name in given if "." in name}:
        own = {name.partition(".")[2]: v for name, v in given.items() if name.startswith(f"{section}.")}
        values[section] = _filled(hints[section], getattr(default, section), own)
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return dataclasses.replace(default, **values) if default is not None else kind(**values)
