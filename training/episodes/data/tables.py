"""Problems from tables: JSONL, CSV, and data sets of Hugging Face ``datasets``, local or from the hub."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ....envs.plain import short, told
from ....envs.reading import parsed, read_text
from ....errors import UsageError, did_you_mean, needs
from .problems import Problem, read_answer

__all__ = ["read_problems"]

LONGEST = 200_000
"""The most characters of a question."""


def read_problems(
    source: str,
    *,
    question: str = "question",
    answer: str = "answer",
    choices: str = "",
    split: str = "train",
    config: str | None = None,
    limit: int = 0,
) -> list[Problem]:
    """Read problems from a table.

    Args:
        source: a file of JSON lines (``.jsonl``) or of comma-separated values (``.csv``) with the columns' names in its
            first row; a folder that ``Dataset.save_to_disk`` wrote or that ``datasets.load_dataset`` reads; otherwise
            the name of a data set of the hub, such as ``openai/gsm8k``.
        question: the column with questions.
        answer: the column with answers. What follows ``####`` is the answer, as in GSM8K; else the whole field.
        choices: the column with lists of choices; empty: there are none. JSONL and data sets only.
        split: of a data set.
        config: of a data set of the hub (GSM8K: ``main``).
        limit: the most rows, from the first on; 0: all.

    Raises:
        UsageError: no such file, folder or data set; it can't be read; a column is missing or empty; a question that is
            too long; choices that are not all different; no rows.
        MissingExtra: ``datasets`` is needed and not installed.
    """
    path = Path(source)
    if path.suffix in (".jsonl", ".csv"):
        rows = _lines(path) if path.suffix == ".jsonl" else _values(path)
    else:
        rows = _data_set(source, split, config)
    columns = [question, answer, *([choices] if choices else [])]
    found = [_problem(row, columns, f"{short(source)}, {where}") for where, row in islice(rows, limit or None)]
    if not found:
        raise UsageError(f"{source} holds no rows.")
    return found


def _problem(row: Mapping[str, Any], columns: list[str], where: str) -> Problem:
    """A row as a problem."""
    for name in columns:
        if name not in row:
            known = [key for key in row if isinstance(key, str)]
            hint = did_you_mean(name, known)
            raise UsageError(f"{where}: there is no column {name!r}.{hint} Columns: {', '.join(map(short, known))}.")
        if row[name] is None or row[name] == "":
            raise UsageError(f"{where}: the column {name!r} is empty.")
    asked, said = (row[name] for name in columns[:2])
    if not isinstance(asked, str) or not isinstance(said, str | int | float):
        raise UsageError(f"{where}: question {told(asked)} and answer {told(said)}; expected texts (or a number).")
    if len(asked) > LONGEST:
        raise UsageError(f"{where}: the question has {len(asked):,} characters; at most {LONGEST:,} are read.")
    options = row[columns[2]] if len(columns) > 2 else []
    answer = read_answer(str(said)) if "####" in str(said) else str(said).strip()
    if not isinstance(options, list) or (options and answer not in map(str, options)):
        raise UsageError(f"{where}: the choices {told(options)} are not a list with the answer {told(answer)} in it.")
    texts = [str(x) for x in options]
    if not all(texts) or len(set(texts)) < len(texts):
        raise UsageError(f"{where}: the choices {told(options)} must all be different, and none empty.")
    return {"question": asked, "answer": answer, "choices": texts, "level": 0}


def _text(path: Path) -> str:
    try:
        return read_text(path).removeprefix("\ufeff")
    except FileNotFoundError:
        raise UsageError(f"There is no file {str(path)!r}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8: {error}.") from None
    except OSError as error:
        raise UsageError(f"{short(str(path))} cannot be read: {error.strerror or error}.") from None


def _lines(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """(where, row) of a file of JSON lines."""
    for k, line in enumerate(_text(path).split("\n"), 1):  # texts may hold the other line breaks of Unicode
        if not line.strip():
            continue
        try:
            row = parsed(line)
        except ValueError as error:
            raise UsageError(f"{path}, line {k}: not JSON ({error}).") from None
        if not isinstance(row, dict):
            raise UsageError(f'{path}, line {k}: {told(row)} came; expected an object such as {{"question": ...}}.')
        yield f"line {k}", row


def _values(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """(where, row) of a file of comma-separated values."""
    rows = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        for row in rows:
            if None in row:
                raise UsageError(f"{path}, line {rows.line_num}: it has more values than columns.")
            yield f"line {rows.line_num}", row
    except csv.Error as error:
        raise UsageError(f"{path}, line {rows.line_num}: {error}.") from None


def _data_set(source: str, split: str, config: str | None) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """(where, row) of a data set of Hugging Face."""
    with needs("Reading data sets", "train"):
        import datasets
    path = Path(source)
    if path.is_file() or (source.startswith((".", "/", "~")) and not path.is_dir()):
        raise UsageError(f"{short(source)} is no folder, and no file of .jsonl or .csv.")
    try:
        if (path / "dataset_info.json").exists() or (path / "dataset_dict.json").exists():
            found = datasets.load_from_disk(source)
        else:
            found = datasets.load_dataset(source, config, split=None)
    except Exception as error:  # whatever the library and its file systems raise
        why = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
        raise UsageError(f"The data set {short(source)!r} cannot be read: {why}.") from None
    if isinstance(found, dict):
        if split not in found:
            raise UsageError(
                f"The data set {short(source)!r} has no split {split!r}; it has {', '.join(map(str, found))}."
            )
        found = found[split]
    return ((f"row {k}", row) for k, row in enumerate(found))
