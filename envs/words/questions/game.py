"""Twenty questions: one player finds a thing by questions that are answered with yes or no.

The answers come from the table of things and properties, or from a second player, who is told the thing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....aliases import RUNNING, TERMINATED, Player, Seed, Status
from ....errors import UsageError
from ...answers import known_name, several_names, true_or_false, whole_number
from ...plain import told
from ..core import Plain, TextGame, one_of, text_game
from .search import chosen, consistent, fewest, halves, questions
from .table import PROPERTIES, THINGS

__all__ = ["ANSWERERS", "ASKER", "guessed", "optimum", "twenty_questions"]

ANSWERERS = ("table", "player")

ASKER, ANSWERER = 0, 1
"""The seats."""

_LONGEST = 120
"""The most characters of an open question."""

_GUESS = re.compile(
    r"(?:(?:is it|it is|it's|guess:?|i guess:?)\s+)?(?:(?:an?|the|some)\s+)?(\w+)\s*[?.!]*", re.IGNORECASE
)

_PROPERTY = {f"{name}?": name for name in PROPERTIES} | {text.lower(): name for name, text in PROPERTIES.items()}


def optimum(count: int) -> int:
    """The fewest turns that can suffice to find one of so many things: ceil(log2 n) questions, and the guess."""
    return math.ceil(math.log2(count)) + 1


def guessed(message: str, things: Sequence[str]) -> str | None:
    """The thing that a message guesses (``cat``, ``Is it a cat?``), or None if it is a question."""
    found = _GUESS.fullmatch(message.strip())
    return found[1].lower() if found and found[1].lower() in things else None


# Longer than most: its arguments, what they mean, and the game that they make.
def twenty_questions(
    things: int | Sequence[str] = 16, turns: int = 0, answerer: str = "table", closed: bool = True
) -> TextGame:
    """One player asks about properties of a secret thing, and names it within so many turns.

    Args:
        things: how many things of the table it may be (2 to 176), or their names.
        turns: the most questions and guesses; 0: as many as the best player needs at most, ceil(log2 n) + 1 (more where
            the table needs more).
        answerer: ``table``: the game answers, and there is one player. ``player``: player_1 is told the thing and
            answers; both are paid.
        closed: questions are the table's properties, listed in ``choices`` with the things. Otherwise any text is a
            question, which takes a player who answers; a text that names a thing is a guess.

    Raises:
        UsageError: another number of things or turns, unknown things, or open questions to the table.
        UnknownName: no such answerer.
    """
    among = _among(things)
    known_name("twenty_questions: answerer", answerer, ANSWERERS)
    closed = true_or_false("twenty_questions: closed", closed)
    if answerer == "table" and not closed:
        raise UsageError(
            "twenty_questions: the table answers listed questions only; set answerer=player or closed=True."
        )
    everything = frozenset(among)
    total = whole_number("twenty_questions: turns", turns, 0, 60) or fewest(everything)[0] + 1
    seats, asks = 1 + (answerer == "player"), [f"{name}?" for name in questions(everything)]

    def over(game: Plain) -> bool:
        said = game["said"]
        return not game["asked"] and (len(said) >= total or (bool(said) and said[-1] == [game["thing"], "yes"]))

    def begin(seed: Seed) -> Plain:
        return {"thing": among[int(np.random.default_rng(seed).integers(len(among)))], "asked": "", "said": []}

    def asked(game: Plain) -> Sequence[Player]:
        return () if over(game) else (ANSWERER,) if game["asked"] else (ASKER,)

    def truth(game: Plain, question: str) -> str:
        return "yes" if _PROPERTY.get(question.lower()) in THINGS[game["thing"]] else "no"

    def hear(game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        ((player, message),) = messages.items()
        guess = guessed(message, among) if player == ASKER else None
        if player == ANSWERER:
            game["said"].append([game["asked"], message])
            game["asked"] = ""
        elif guess is not None:
            game["said"].append([guess, "yes" if guess == game["thing"] else "no"])
        elif answerer == "table":
            game["said"].append([message, truth(game, message)])
        else:
            game["asked"] = message
        won = guess is not None and guess == game["thing"]
        return [float(won)] * seats, TERMINATED if over(game) else RUNNING

    def sound(game: Plain) -> bool:
        said = game["said"]
        return (
            game["thing"] in among
            and all(isinstance(pair, list) and len(pair) == 2 and pair[1] in ("yes", "no") for pair in said)
            and all(isinstance(text, str) and len(text) <= _LONGEST for text, _ in said)
            and (not closed or all(text in asks or text in among for text, _ in said))
            and len(said) + bool(game["asked"]) <= total
            and len(game["asked"]) <= _LONGEST
            and (not game["asked"] or (seats == 2 and (not closed or game["asked"] in asks)))
        )

    def listed(game: Plain, player: Player) -> list[str] | None:
        if player == ANSWERER:
            return ["yes", "no"]
        said = {text for text, _ in game["said"]}
        return [text for text in (*asks, *among) if text not in said] if closed else None

    def left(game: Plain) -> list[str]:
        """The things that the answers about properties and the guesses leave, in order; all if they contradict."""
        answers = [(_PROPERTY[text.lower()], said == "yes") for text, said in game["said"] if text.lower() in _PROPERTY]
        wrong = {text for text, _ in game["said"]}
        found = consistent(everything - wrong, answers)
        return [thing for thing in among if thing in found] or [thing for thing in among if thing not in wrong]

    def tell(game: Plain, player: Player) -> str:
        turn = min(len(game["said"]) + 1, total)
        shown = [text if text in asks or text in among else repr(text) for text, _ in game["said"]]
        said = "; ".join(f"{text} {answer}" for text, (_, answer) in zip(shown, game["said"], strict=True))
        lines = [f"Turn {turn} of {total}. " + ("You ask." if player == ASKER else "You answer.")]
        lines.append(f"Asked so far: {said or 'nothing'}.")
        if player == ANSWERER:
            lines.append(f"The thing is: {game['thing']}.")
        else:
            lines.append(f"The thing is one of: {', '.join(among)}.")
        if over(game):
            lines.append(f"The game is over. The thing was: {game['thing']}.")
        elif game["asked"]:
            asked = PROPERTIES.get(game["asked"][:-1], repr(game["asked"])) if closed else repr(game["asked"])
            lines.append(f"Asked now: {asked}" + (" Answer yes or no." if player == ANSWERER else ""))
        elif player == ASKER:
            new = [ask for ask in asks if ask not in shown]
            explained = "; ".join(f"{ask} ({PROPERTIES[ask[:-1]]})" for ask in new)
            lines.append(
                f"Name the thing, or ask one of: {explained}" if closed else "Name the thing, or ask a question."
            )
        return "\n".join(lines)

    def compact(game: Plain, player: Player) -> str:
        said = " ".join(f"{text} {answer[0]}" for text, answer in game["said"])
        if player == ANSWERER:
            return f"{game['thing']} {game['asked']}>"
        return f"{len(game['said'])}/{total} {said}>"

    def info(game: Plain) -> list[dict[str, Any]]:
        found = bool(game["said"]) and game["said"][-1] == [game["thing"], "yes"]
        return [{"left": len(left(game)), "found": found, "turns": len(game["said"])}] * seats

    def script(ask: Any) -> Any:
        def say(game: Plain, player: Player, rng: np.random.Generator) -> str:
            if player == ANSWERER:
                return truth(game, game["asked"])
            rest = left(game)
            name = ask(frozenset(rest))
            question = f"{name}?" if closed else PROPERTIES.get(name, "")
            # Answers that contradict each other leave questions already asked.
            return question if name and question not in {text for text, _ in game["said"]} else one_of(rest, rng)

        return say

    def any_of(game: Plain, player: Player, rng: np.random.Generator) -> str:
        return one_of(listed(game, player) or [*(PROPERTIES[ask[:-1]] for ask in asks), *among], rng)

    who = "The game answers" if seats == 1 else "The other player, who knows the thing, answers"
    return text_game(
        "twenty_questions-v0",
        players=seats,
        rules=(
            f"Twenty questions: find out which of {len(among)} things is meant. Ask about it or name it, "
            f"{total} times at most. {who} every question with yes or no. Finding the thing pays 1."
        ),
        goal="Find out which thing is meant before the questions run out.",
        begin=begin,
        asked=asked,
        choices=listed,
        hear=hear,
        tell=tell,
        compact=compact,
        info=info,
        sound=sound,
        sample=any_of,
        scripts={"solver": script(lambda rest: fewest(rest)[1]), "halver": script(halves)},
        max_cycles=total * seats,
        max_length=_LONGEST if not closed else max(map(len, (*asks, *among, "yes"))),
        min_length=1,
        config={"things": things if isinstance(things, int) else list(among), "turns": turns}
        | {"answerer": answerer, "closed": closed},
    )


def _among(things: int | Sequence[str]) -> tuple[str, ...]:
    """The things by number or names.

    Raises:
        UsageError: fewer than two, more than the table has, or unknown ones.
    """
    if isinstance(things, str) or not isinstance(things, Sequence):
        return chosen(whole_number("twenty_questions: things", things, 2, len(THINGS)))
    found = several_names("twenty_questions: things", things)
    unknown = [thing for thing in found if thing not in THINGS]
    if unknown or len(found) < 2:
        what = f"{told(unknown[0])} is not in the table" if unknown else "at least two are needed"
        raise UsageError(f"twenty_questions: things={told(things)} came; {what}. Name things such as cat, apple.")
    return found
