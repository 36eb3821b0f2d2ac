"""Coroutines ask one by one and are answered together; the stand-in engine shows what was asked."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from coterie.agents.deadline import OutOfTime
from coterie.agents.engines.base import Ask, Choice, Context, Free
from coterie.agents.engines.batcher import Batcher
from coterie.agents.engines.mock import MockEngine
from coterie.agents.seeds import Seed, stream
from coterie.errors import UsageError

FORM = Choice(((1,), (2,), (3,)))


async def episode(batcher, number, turns=5, naps=0):
    """The context after some choices; ``naps``: rounds of the event loop that it lets pass before each."""
    context = Context((9,))
    for turn in range(turns):
        for _ in range(naps):
            await asyncio.sleep(0)
        answer = await batcher.ask(Ask(context, FORM, "ann", Seed(stream(5, number), turn)))
        context = context.extend(answer.ids, by="ann", logprobs=answer.logprobs)
    return context.ids


async def all_of(batcher, count, naps=lambda number: 0):
    return await asyncio.gather(*(episode(batcher, number, naps=naps(number)) for number in range(count)))


def test_sixty_four_coroutines_make_few_calls():
    engine = MockEngine()
    batcher = Batcher(engine)
    ended = asyncio.run(all_of(batcher, 64))
    assert batcher.sizes == [64] * 5 == [len(batch) for batch in engine.batches]
    assert len(set(ended)) > 32


def test_answers_do_not_depend_on_who_asks_together():
    alone = [asyncio.run(episode(Batcher(MockEngine()), number)) for number in range(40)]
    assert asyncio.run(all_of(Batcher(MockEngine()), 40)) == alone
    uneven = Batcher(MockEngine(), at_most=7)
    assert asyncio.run(all_of(uneven, 40, naps=lambda number: number % 4)) == alone
    assert max(uneven.sizes) <= 7
    assert sum(uneven.sizes) == 200


def test_a_failed_call_fails_only_its_asks():
    def answer(ask):
        if ask.player == "eve":
            raise UsageError("eve may not ask")
        return 1

    async def go():
        batcher = Batcher(MockEngine(answer), at_most=1)
        asks = [Ask(Context((1,)), FORM, who, Seed(0, k)) for k, who in enumerate(("ann", "eve", "bob"))]
        return await asyncio.gather(*(batcher.ask(ask) for ask in asks), return_exceptions=True)

    first, second, third = asyncio.run(go())
    assert (first.chosen, third.chosen) == (1, 1)
    assert isinstance(second, UsageError)
    assert str(second) == "eve may not ask"


@pytest.mark.parametrize("bad", [0, 5, 11])
def test_one_bad_ask_costs_no_other_its_answer(bad):
    def answer(ask):
        if ask.seed.counter == bad:
            raise UsageError("not this one")
        return 2

    async def go():
        batcher = Batcher(MockEngine(answer))
        asks = [Ask(Context((1,)), FORM, "ann", Seed(0, k)) for k in range(12)]
        return await asyncio.gather(*(batcher.ask(ask) for ask in asks), return_exceptions=True)

    found = asyncio.run(go())
    assert [k for k, answer in enumerate(found) if isinstance(answer, UsageError)] == [bad]
    assert {answer.chosen for k, answer in enumerate(found) if k != bad} == {2}


def test_the_end_of_time_is_not_tried_again():
    engine = MockEngine()

    def late(asks):
        engine.batches.append(list(asks))
        raise OutOfTime

    engine.sample = late

    async def go():
        batcher = Batcher(engine)
        asks = [Ask(Context((1,)), FORM, "ann", Seed(0, k)) for k in range(4)]
        return await asyncio.gather(*(batcher.ask(ask) for ask in asks), return_exceptions=True)

    assert all(isinstance(found, OutOfTime) for found in asyncio.run(go()))
    assert len(engine.batches) == 1


def test_who_gives_up_is_not_asked_for():
    async def go():
        engine = MockEngine()
        batcher = Batcher(engine)
        gone = asyncio.create_task(episode(batcher, 0, turns=1))
        stays = asyncio.create_task(episode(batcher, 1, turns=1))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays, engine.batches

    ids, batches = asyncio.run(go())
    assert len(ids) == 2
    assert [len(batch) for batch in batches] == [1]


def test_the_mock_answers_by_seed_or_by_function():
    engine = MockEngine(vocabulary=50)
    free = Ask(Context((1,)), Free(6, (7,)), None, Seed(3, 4))
    one, two = engine.sample([free]), engine.sample([free])
    assert one[0].ids == two[0].ids
    assert one[0].stop == ("stop" if one[0].ids[-1] == 7 else "length")
    told = MockEngine(lambda ask: (5, 7, 8) if isinstance(ask.form, Free) else 2)
    said, chosen = told.sample([free, Ask(Context((1,)), FORM, None, Seed(0, 0))])
    assert (said.ids, said.stop, chosen.ids) == ((5, 7), "stop", (3,))
    with pytest.raises(UsageError, match="answered 3, which is no index of 3 candidates"):
        MockEngine(lambda ask: 3).sample([Ask(Context((1,)), FORM, None, Seed(0, 0))])


def test_the_page_of_engines_prints_what_it_says(capsys):
    page = (Path(__file__).parents[3] / "docs" / "engines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(block, "engines.md", "exec"), {})
    assert capsys.readouterr().out.endswith("calls: [64, 64, 64, 64, 64]\n")
