"""Problems: made without limit and with one answer, read from tables, and answers read from texts."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import UsageError
from coterie.training.episodes.data.arithmetic import sums, word_problem
from coterie.training.episodes.data.problems import Problem, number, read_answer, right
from coterie.training.episodes.data.puzzles import knights_and_knaves, ordering
from coterie.training.episodes.data.tables import read_problems

KINDS: list[tuple[Callable[[int, np.random.Generator], Problem], int]] = [
    (sums, 49),
    (word_problem, 10),
    (knights_and_knaves, 4),
    (ordering, 4),
]


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<answer>5</answer>", "5"),
        ("first <answer>4</answer>, no: <ANSWER> 5. </Answer> and so on", "5"),
        ("<answer>5", "5"),
        (r"so \boxed{\frac{1}{2}} is it", r"\frac{1}{2}"),
        (r"\boxed{5", "5"),
        ("3 + 4 = 7\n#### 7", "7"),
        ("Answer: Ann and Bob.", "Ann and Bob"),
        ("**Answer:** 12", "12"),
        ("The answer is 12.", "12"),
        ("The answer is: Ann\nbecause", "Ann"),
        ("Answer: 3. No, wait.\n<answer>4</answer>", "4"),
        ("<answer>4</answer> Answer: 3", "3"),
        ("I think\nAnn", "Ann"),
        ("", ""),
        ("<answer></answer>", ""),
    ],
)
def test_an_answer_is_what_is_marked_last(text: str, found: str) -> None:
    assert read_answer(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("42", "42"),
        ("1,234.50", "1234.5"),
        ("-3", "-3"),
        ("\u22123", "-3"),
        ("5-3", "3"),
        ("costs $18.", "18"),
        ("-$18", "-18"),
        ("3/4", "3/4"),
        (r"\frac{3}{4}", "3/4"),
        (".5", "1/2"),
        ("1e3", "1000"),
        ("x = 3, y = 4", "4"),
        ("1,2", "2"),
        ("1,000,000", "1000000"),
        ("none", None),
        ("1/0", None),
        ("9" * 60, None),
    ],
)
def test_numbers(text: str, found: str | None) -> None:
    from fractions import Fraction

    assert number(text) == (None if found is None else Fraction(found))


def problem(answer: str) -> Problem:
    return {"question": "?", "answer": answer, "choices": [], "level": 0}


@pytest.mark.parametrize(
    ("answer", "text", "is_right"),
    [
        ("18", "She has 9 * 2 = 18 dollars", True),
        ("18", "The answer is $18.00", True),
        ("18", "18 or 19", False),
        ("18", "eighteen", False),
        ("0.5", r"\boxed{\frac12} \boxed{\frac{1}{2}}", True),
        ("1,000", "1000", True),
        ("Ann and Bob", "Answer: ann, bob", True),
        ("Ann and Bob", "Bob and Ann", False),
        ("nobody", "Nobody.", True),
        ("A1", "1", False),
        ("5", "", False),
    ],
)
def test_right(answer: str, text: str, is_right: bool) -> None:
    assert right(problem(answer), text) is is_right


@pytest.mark.parametrize(
    "text",
    [
        "9" * 10**6,
        "answer " * 200_000,
        "{" * 10**6,
        "\\boxed{" * 10**5,
        "<answer>" * 10**5,
        "1,111" * 10**5,
        "\0\udc80",
    ],
)
def test_hostile_texts_are_wrong_answers(text: str) -> None:
    assert not right(problem("5"), text)
    assert not right(problem("Ann"), text)


@given(st.text(max_size=50))
def test_any_text_can_be_read(text: str) -> None:
    right(problem("5"), text)


# -- problems ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "levels"), KINDS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_problems_are_seeded_plain_and_answered_among_their_choices(kind, levels) -> None:
    for level in {1, 2, levels // 2, levels}:
        made = [kind(level, np.random.default_rng(seed)) for seed in range(40)]
        assert made == [kind(level, np.random.default_rng(seed)) for seed in range(40)]
        assert len({p["question"] for p in made}) > (3 if kind is sums and level < 3 else 15)
        for p in made:
            assert p == json.loads(json.dumps(p))
            assert p["level"] == level
            assert [c for c in p["choices"] if right(p, c)] == [p["answer"]]
            assert len(set(p["choices"])) == len(p["choices"])
    with pytest.raises(UsageError, match=rf"from 1 to {levels}; 0 came"):
        kind(0, np.random.default_rng(0))
    with pytest.raises(UsageError, match=f"{levels + 1} came"):
        kind(levels + 1, np.random.default_rng(0))


def test_sums() -> None:
    for seed in range(50):
        p = sums(9, np.random.default_rng(seed))
        assert eval(p["question"].removesuffix("=")) == int(p["answer"])


def told(question: str) -> int:
    """An independent reader of word problems."""
    have = int(re.search(r"has (\d+) \w+\.", question)[1])  # type: ignore[index]
    for sentence in question.split(". ")[1:-1]:
        n = int(re.search(r"\d+", sentence)[0])  # type: ignore[index]
        if re.search(r"more", sentence):
            have += n
        elif re.search(r"gives|loses|sells", sentence):
            have -= n
        elif re.search(r"times|trick", sentence):
            have *= n
        else:
            assert re.search(r"share|keeps", sentence)
            have, rest = divmod(have, n)
            assert rest == 0
        assert 0 <= have <= 99
    return have


def test_word_problems() -> None:
    for level, seed in itertools.product(range(1, 11), range(100)):
        p = word_problem(level, np.random.default_rng(seed))
        assert told(p["question"]) == int(p["answer"])
        steps = p["question"].count(".") - 1
        assert steps == (1, 1, 1, 1, 2, 2, 3, 3, 4, 6)[level - 1]


COUNTS = ("none", "one", "two", "three", "four", "five")


def holds(said: str, speaker: str, knights: set[str], people: list[str]) -> bool:
    """An independent reader of what knights and knaves say."""
    if found := re.fullmatch(r"(\w+) is a (knight|knave)\.", said):
        return (found[1] in knights) == (found[2] == "knight")
    if found := re.fullmatch(r"(\w+) and I are of (the same kind|different kinds)\.", said):
        return ((found[1] in knights) == (speaker in knights)) == (found[2] == "the same kind")
    if found := re.fullmatch(r"Exactly (\w+) of us (?:is a|are) knights?\.", said):
        return len(knights) == COUNTS.index(found[1])
    found = re.fullmatch(r"At least (\w+) of us (?:is a knave|are knaves)\.", said)
    assert found, said
    return len(people) - len(knights) >= COUNTS.index(found[1])


def test_knights_and_knaves() -> None:
    for level, seed in itertools.product(range(1, 5), range(40)):
        p = knights_and_knaves(level, np.random.default_rng(seed))
        said = re.findall(r'(\w+) says: "([^"]+)"', p["question"])
        people = [name for name, _ in said]
        fits = [
            set(group)
            for size in range(len(people) + 1)
            for group in itertools.combinations(people, size)
            if all(holds(text, who, set(group), people) == (who in group) for who, text in said)
        ]
        assert len(people) == level + 1
        assert fits == [set(re.findall(r"[A-Z]\w+", p["answer"]))]


PLACES = ["first", "second", "third", "fourth", "fifth", "sixth"]


def fits(clue: str, order: tuple[str, ...]) -> bool:
    """An independent reader of clues about a race."""
    at = order.index
    if found := re.fullmatch(r"(\w+) was directly before (\w+)", clue):
        return at(found[1]) + 1 == at(found[2])
    if found := re.fullmatch(r"(\w+) was before (\w+)", clue):
        return at(found[1]) < at(found[2])
    if found := re.fullmatch(r"(\w+) was not (\w+)", clue):
        return at(found[1]) != PLACES.index(found[2])
    found = re.fullmatch(r"Somebody was between (\w+) and (\w+)", clue)
    assert found, clue
    return abs(at(found[1]) - at(found[2])) > 1


def test_orderings() -> None:
    for level, seed in itertools.product(range(1, 5), range(30)):
        p = ordering(level, np.random.default_rng(seed))
        *clues, question = p["question"].split(" ran a race. ")[1].split(". ")
        asked = PLACES.index(question.removeprefix("Who was ").removesuffix("?"))
        worlds = [o for o in itertools.permutations(p["choices"]) if all(fits(clue, o) for clue in clues)]
        assert [o[asked] for o in worlds] == [p["answer"]]
        for k in range(len(clues)):  # every clue is needed
            rest = clues[:k] + clues[k + 1 :]
            assert sum(all(fits(c, o) for c in rest) for o in itertools.permutations(p["choices"])) > 1


# -- tables -----------------------------------------------------------------------------------------------------------


def test_jsonl_and_csv(tmp_path: Path) -> None:
    rows = [{"q": "1 + 1?", "a": "2", "c": ["2", "3"]}, {"q": 'Say "x",\nplease', "a": 5, "c": ["5"]}]
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    found = read_problems(str(lines), question="q", answer="a", choices="c")
    assert [p["answer"] for p in found] == ["2", "5"]
    assert found[0] == {"question": "1 + 1?", "answer": "2", "choices": ["2", "3"], "level": 0}
    assert read_problems(str(lines), question="q", answer="a", limit=1) == [{**found[0], "choices": []}]
    values = tmp_path / "a.csv"
    values.write_text('\ufeffa,q\n2,1 + 1?\n5,"Say ""x"",\nplease"\n')
    assert [p["question"] for p in read_problems(str(values), question="q", answer="a")] == [r["q"] for r in rows]


def test_answers_of_gsm8k(tmp_path: Path) -> None:
    path = tmp_path / "gsm.jsonl"
    path.write_text(json.dumps({"question": "How many?", "answer": "He has <<2*500=1000>>1,000.\n#### 1,000"}))
    (found,) = read_problems(str(path))
    assert found["answer"] == "1,000"
    assert right(found, "That makes 1000 of them.")


def test_data_sets_in_folders(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"question": ["a?", "b?"], "answer": ["1", "2"]})
    table.save_to_disk(str(tmp_path / "one"))
    assert [p["answer"] for p in read_problems(str(tmp_path / "one"))] == ["1", "2"]
    datasets.DatasetDict(train=table, test=table.select([1])).save_to_disk(str(tmp_path / "two"))
    assert [p["question"] for p in read_problems(str(tmp_path / "two"), split="test")] == ["b?"]
    with pytest.raises(UsageError, match=r"no split 'tset'; it has train, test"):
        read_problems(str(tmp_path / "two"), split="tset")
    (tmp_path / "three").mkdir()
    table.to_json(str(tmp_path / "three" / "train.jsonl"))
    assert len(read_problems(str(tmp_path / "three"))) == 2
    with pytest.raises(UsageError, match=r"row 0: there is no column 'answr'\. Did you mean 'answer'"):
        read_problems(str(tmp_path / "one"), answer="answr")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.jsonl", None, "There is no file"),
        ("a.jsonl", b"", "holds no rows"),
        ("a.jsonl", b"{", "line 1: not JSON"),
        ("a.jsonl", b"[" * 100_000, "line 1: not JSON"),
        ("a.jsonl", b"[1]", "line 1: \\[1\\] came; expected an object"),
        ("a.jsonl", b'{"question": "x"}', "line 1: there is no column 'answer'. Columns: question"),
        ("a.jsonl", b'{"question": "x", "answer": null}', "the column 'answer' is empty"),
        ("a.jsonl", b'{"question": "x", "answer": []}', "expected texts"),
        ("a.jsonl", b'{"question": 3, "answer": "x"}', "expected texts"),
        ("a.jsonl", b"\xff\xfe", "not a text in UTF-8"),
        ("a.csv", b'question,answer\n"a', "line 1: unexpected end of data"),
        ("a.csv", b"question\nx", "no column 'answer'"),
        ("a.csv", b"question,answer\nx", "the column 'answer' is empty"),
        ("a.csv", b"question,answer\nx,1,2,3", "more values than columns"),
        ("a.csv", b"question,answer\n" + b"x" * 200_000 + b",1", "field larger than field limit"),
        ("a.jsonl", json.dumps({"question": "x" * 200_001, "answer": "1"}).encode(), "200,001 characters; at most"),
        ("a.txt", b"x", "no folder, and no file of .jsonl or .csv"),
        ("nowhere", None, "no folder, and no file"),
    ],
)
def test_bad_tables_get_a_sentence(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        read_problems(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_choices_hold_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"question": "?", "answer": "4", "c": ["1", "2"]}))
    with pytest.raises(UsageError, match="are not a list with the answer '4' in it"):
        read_problems(str(path), choices="c")


@pytest.mark.parametrize("choices", [["1", "1", "4"], ["4", ""], ["4", 4]])
def test_choices_are_different_texts(tmp_path: Path, choices: list[object]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"question": "?", "answer": "4", "c": choices}))
    with pytest.raises(UsageError, match=r"line 1: the choices .* must all be different, and none empty"):
        read_problems(str(path), choices="c")


def test_lines_end_where_json_lines_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"question": f"one{mark}two?", "answer": "4"} for mark in "\u2028\u2029\x85"]
    path.write_bytes("\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
    assert [p["question"] for p in read_problems(str(path))] == [row["question"] for row in rows]


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")

    def load(*args: object, **kwargs: object) -> None:
        raise ConnectionError("Couldn't reach the hub\nat all.")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(UsageError, match="'openai/gsm8k' cannot be read: Couldn't reach the hub at all"):
        read_problems("openai/gsm8k", config="main")
