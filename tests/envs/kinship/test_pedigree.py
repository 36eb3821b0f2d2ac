"""Pedigrees: known families, and random ones against Wright's path counting and the tabular method."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs.kinship.pedigree import Pedigree
from coterie.errors import UsageError

# -- oracles over the whole pedigree: [(mother, father), ...] by id, None a stranger -----------------------------------


def tabular(parents):
    """A, in fractions: a child's row is the mean of its parents' rows, column by column."""
    A = [[Fraction(0)] * len(parents) for _ in parents]
    for i, couple in enumerate(parents):
        known = [p for p in couple if p is not None]
        for j in range(i):
            A[i][j] = A[j][i] = sum((A[p][j] for p in known), Fraction(0)) / 2
        A[i][i] = 1 + (A[couple[0]][couple[1]] / 2 if len(known) == 2 else 0)
    return A


def path_counting(parents):
    """A by Wright: over common ancestors and pairs of ways down that meet nowhere else, (1/2)^length (1 + F)."""

    @cache
    def ways(ancestor, who):
        """Lines of descent, as tuples of those below the ancestor; by mother and by father are two."""
        if ancestor == who:
            return [()]
        return [(*way, who) for p in parents[who] if p is not None for way in ways(ancestor, p)]

    @cache
    def related(i, j):
        total = Fraction(0)
        for ancestor in range(len(parents)):
            for one, other in product(ways(ancestor, i), ways(ancestor, j)):
                if not set(one) & set(other):
                    total += Fraction(1, 2 ** (len(one) + len(other))) * diagonal(ancestor)
        return total

    @cache
    def diagonal(i):
        mother, father = parents[i]
        if mother is None or father is None:
            return Fraction(1)
        return 1 + (diagonal(mother) if mother == father else related(mother, father)) / 2

    n = len(parents)
    return [[diagonal(i) if i == j else related(i, j) for j in range(n)] for i in range(n)]


@st.composite
def pedigrees(draw, most):
    parents = []
    for i in range(draw(st.integers(1, most))):
        one = st.one_of(st.none(), st.integers(0, i - 1)) if i else st.none()
        parents.append((draw(one), draw(one)))
    return parents


@settings(deadline=None, max_examples=60)
@given(pedigrees(9))
def test_the_matrix_counts_paths(parents):
    family = Pedigree()
    for mother, father in parents:
        family.birth(mother, father)
    assert family.matrix().tolist() == [[float(x) for x in row] for row in path_counting(tuple(parents))]


@settings(deadline=None, max_examples=60)
@given(pedigrees(40), st.randoms(use_true_random=False))
def test_births_and_deaths_keep_the_matrix(parents, random):
    """Deaths between births recycle slots; whose parents died meanwhile gets strangers. The oracle forgets nobody."""
    family, whole = Pedigree(), []
    for mother, father in parents:
        couple = tuple(p if p in family.living else None for p in (mother, father))
        family.birth(*couple)
        whole.append(couple)
        if random.random() < 0.3:
            family.death(random.choice(family.living))
    A = tabular(whole)
    ids = family.living
    assert family.matrix().tolist() == [[float(A[i][j]) for j in ids] for i in ids]
    for i in ids:
        assert family.inbreeding(i) == float(A[i][i] - 1)
        for j in ids:
            assert family.r(i, j) == pytest.approx(float(A[i][j] / A[i][i]))
            assert 0 <= family.r(i, j) <= 1
    assert family.parents == dict(enumerate(whole))


@settings(deadline=None, max_examples=60)
@given(pedigrees(15), st.randoms(use_true_random=False))
def test_rows_in_any_order(parents, random):
    A = tabular(parents)
    name = "abcdefghijklmnopqrst".__getitem__
    rows = [(name(i), *(None if p is None else name(p) for p in couple)) for i, couple in enumerate(parents)]
    order = list(range(len(rows)))
    random.shuffle(order)
    expected = [[float(A[i][j]) for j in order] for i in order]
    shuffled = [rows[i] for i in order]
    for given_rows in (
        shuffled,
        iter(shuffled),
        [list(row) for row in shuffled],
        [dict(zip(("id", "mother", "father"), row, strict=True)) for row in shuffled],
        {row[0]: row[1:] for row in shuffled},
    ):
        family = Pedigree.from_parents(given_rows)
        assert family.living == [row[0] for row in shuffled]
        assert family.matrix().tolist() == expected


# -- families that everybody knows -------------------------------------------------------------------------------------

FAMILY = """
- [gran, null, null]
- [grandpa, null, null]
- [ann, gran, grandpa]        # ann and bob are siblings
- [bob, gran, grandpa]
- {id: cid, mother: gran}     # their half brother
- [dan, ann, null]            # dan and eve are cousins
- [eve, null, bob]
"""


def test_hamiltons_numbers():
    family = Pedigree.from_yaml(FAMILY)
    for i, j, r in (
        ("gran", "ann", 0.5),
        ("ann", "bob", 0.5),
        ("ann", "cid", 0.25),
        ("gran", "dan", 0.25),
        ("ann", "eve", 0.25),
        ("dan", "eve", 0.125),
        ("cid", "dan", 0.125),
        ("gran", "grandpa", 0),
        ("ann", "ann", 1),
    ):
        assert family.r(i, j) == family.r(j, i) == r
    assert (np.diagonal(family.related()) == 1).all()
    assert family.related(["dan", "eve"]).tolist() == [[1, 0.125], [0.125, 1]]


def test_founders():
    assert Pedigree(3).matrix().tolist() == np.eye(3).tolist()
    assert Pedigree([2, 1]).matrix().tolist() == [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    named = Pedigree([["ann", "bob"], ["eve"]])
    assert named.living == ["ann", "bob", "eve"]
    child = named.birth("ann", "bob")
    assert child == 0
    assert named.inbreeding(child) == 0.25
    assert Pedigree().matrix().shape == (0, 0)


def test_selfing_goes_to_one():
    line = Pedigree(1)
    for generation in range(20):
        child = line.birth(line.living[-1], line.living[-1])
        assert line.inbreeding(child) == 1 - 0.5 ** (generation + 1)
    assert line.r(0, child) == 1  # all that the child has comes from the founder
    assert line.r(child, 0) == pytest.approx(0.5)


def test_ids_are_never_used_again():
    family = Pedigree(2)
    family.death(1)
    assert family.birth(0) == 2
    assert family.living == [0, 2]
    assert family.birth(id=10) == 10
    assert family.birth() == 11
    assert family.birth(id="x") == "x"
    assert family.birth() == 12


def test_copies_are_independent():
    family = Pedigree(2)
    for twin in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        twin.birth(0, 1)
        assert len(twin.living) == 3
    assert len(family.living) == 2
    family.matrix()[0, 1] = family.parents[0] = 5  # type: ignore[assignment]
    assert family.r(0, 1) == 0


ROWS = Pedigree.from_parents
BAD = [
    (lambda: Pedigree(-1), "founders=-1"),
    (lambda: Pedigree("ann"), "founders='ann'"),
    (lambda: Pedigree(["ann"]), "founders=.*groups of siblings"),
    (lambda: Pedigree([["ann", "ann"]]), "'ann' is already used"),
    (lambda: Pedigree([[["x"]]]), r"id \['x'\]"),
    (lambda: Pedigree(2).birth(0, 7), "no 7 in the pedigree.*Living"),
    (lambda: Pedigree([["anna"]]).birth("ana"), "Did you mean 'anna'"),
    (lambda: Pedigree(2).birth(0, [1]), r"no \[1\]"),
    (lambda: Pedigree(2).birth(id=1), "1 is already used"),
    (lambda: Pedigree(2).r(0, 2), "no 2"),
    (lambda: ROWS([("a", "b", None)]), "mother of 'a', 'b', has no row"),
    (lambda: ROWS([("anna", None, None), ("b", None, "ana")]), "father of 'b', 'ana'.*Did you mean 'anna'"),
    (lambda: ROWS([("a", None, None), ("a", None, None)]), "'a' comes twice"),
    (lambda: ROWS([("a", "a", None)]), "'a' is its own ancestor"),
    (lambda: ROWS([(1, 2, None), (2, None, 3), (3, 1, None)]), "1 child of 2 child of 3 child of 1"),
    (lambda: ROWS([("a", "b")]), r"\(id, mother, father\).*\('a', 'b'\)"),
    (lambda: ROWS([{"id": 1, "mum": 2}]), "mum"),
    (lambda: ROWS([(None, None, None)]), "None, None"),
    (lambda: ROWS([(["a"], None, None)]), r"\['a'\]"),
    (lambda: ROWS(["abc"]), "'abc'"),
    (lambda: ROWS("abc"), "'abc'"),
    (lambda: ROWS({"a": "b"}), r"\('a', 'b'\)"),
    (lambda: Pedigree.from_yaml("[["), "cannot be read as YAML"),
    (lambda: Pedigree.from_yaml("7"), "not 7"),
]


@pytest.mark.parametrize(("call", "said"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence(call, said):
    with pytest.raises(UsageError, match=said) as error:
        call()
    assert "\n" not in str(error.value)


def test_the_dead_are_named():
    family = Pedigree(2)
    family.death(0)
    for call in (lambda: family.birth(0, 1), lambda: family.death(0), lambda: family.matrix([0, 1])):
        with pytest.raises(UsageError, match="0 has died"):
            call()


def test_minus_one_is_a_stranger():
    assert ROWS([(0, -1, -1), (1, 0, -1)]).r(0, 1) == 0.5
    assert ROWS([(-1, None, None), (1, -1, None)]).r(-1, 1) == 0.5
