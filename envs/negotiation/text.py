"""Negotiations in words: offers, the position, the rules.

An offer is written from the speaker's side: ``Offer: 3 Wood -> 2 Gold`` gives wood for gold, ``Offer: 2 book, 1 ball``
keeps these and leaves the rest, ``Offer: price 2, date 0`` names an option of every issue. ``[Offer: ...]`` in brackets
may stand in a longer text; without brackets an answer is the action alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...aliases import Action, Player
from ...errors import AmbiguousAction, IllegalAction, InvalidAction
from ..plain import told
from .rules import (
    DISCOUNT,
    MANY,
    MOVER,
    OVER,
    PROPOSER,
    SCORE,
    TURN,
    TURNS,
    YES,
    Bargains,
    base,
    option_of,
    utility,
)

__all__ = ["Words"]

_PART = re.compile(r"([0-9]{1,6})\s+(\w+)")
_ISSUE = re.compile(r"(\w+)\s+([0-9]{1,6})")
_PAID = (
    "You are paid what you gain, as a share of the most that you could gain.",
    "All are paid the same: what you gain together, as a share of the most that you could gain together.",
    "Who gains more wins 1, who gains less loses 1.",
)
_GOALS = (
    "Make a deal that is worth as much as possible to you.",
    "Make the deal that is worth most to all players together.",
    "Gain more from the deals than the other player.",
)


@dataclass(frozen=True)
class Words:
    """The text face of one configuration.

    Attributes:
        names: K names of kinds or issues.
        style: ``trade``, ``divide`` or ``issues``.
        most: K numbers of options.
    """

    names: tuple[str, ...]
    style: str
    most: tuple[int, ...]

    # -- actions -------------------------------------------------------------------------------------------------------

    def options(self, action: Action) -> list[int]:
        """The option of each issue in an offer."""
        found: list[int] = []
        for most in reversed(self.most):
            found.insert(0, action % most)
            action //= most
        return found

    def number(self, options: Sequence[int]) -> Action:
        """The offer with these options."""
        action = 0
        for option, most in zip(options, self.most, strict=True):
            action = action * most + option
        return action

    @property
    def offers(self) -> int:
        """A - 2."""
        return self.number([most - 1 for most in self.most]) + 1

    def action_to_text(self, state: Bargains, i: int, action: Action) -> str:
        """``Offer: ...`` from the mover's side, ``Accept`` or ``Deny``."""
        if action >= self.offers:
            return ("Accept", "Deny")[action - self.offers]
        return f"Offer: {self.deal(state, i, action, int(state.now[i, MOVER]))}"

    def deal(self, state: Bargains, i: int, action: Action, player: Player) -> str:
        """An offer from a player's side."""
        options = self.options(action)
        if self.style == "issues":
            return ", ".join(f"{name} {option}" for name, option in zip(self.names, options, strict=True))
        if self.style == "divide":
            return self._listed([self.share(state, i, k, o, player) for k, o in enumerate(options)])
        change = [self.share(state, i, k, o, player) - self.own(state, i, k, player) for k, o in enumerate(options)]
        return f"{self._listed([max(0, -c) for c in change])} -> {self._listed([max(0, c) for c in change])}"

    def _listed(self, counts: Sequence[int]) -> str:
        said = ", ".join(f"{count} {name}" for count, name in zip(counts, self.names, strict=True) if count)
        return said or "nothing"

    def share(self, state: Bargains, i: int, kind: int, option: int, player: Player) -> int:
        """How many of a kind an option gives a player; and the option that gives it so many."""
        return option if player == 0 else int(state.options[i, kind]) - 1 - option

    def own(self, state: Bargains, i: int, kind: int, player: Player) -> int:
        """How many of a kind a player holds."""
        held = int(state.held[i, kind])
        return self.share(state, i, kind, held, player) if held >= 0 else 0

    def parse_action(self, state: Bargains, i: int, text: str) -> Action:
        """The action that is the whole text.

        Raises:
            InvalidAction: no action, an unknown name, or numbers that cannot be read.
            AmbiguousAction: a name twice.
            IllegalAction: no turns are left for an offer, nothing stands to be accepted, or nobody holds so many.
        """
        said = " ".join(text.split()).removesuffix(".")
        word, colon, rest = said.partition(":")
        word = word.lower()
        if word in ("accept", "deny") and not colon:
            action = self.offers + (word == "deny")
        elif word == "offer" and colon:
            action = self._offer(state, i, rest.strip(), text)
        else:
            raise InvalidAction(f"{told(text)} is no action. {self._out()}")
        self._need_legal(state, i, action, text)
        return action

    def _out(self, stands: bool = True, can_offer: bool = True) -> str:
        """How to answer."""
        example = {
            "trade": f"Offer: 1 {self.names[0]} -> 2 {self.names[-1]}",
            "divide": f"Offer: 1 {self.names[0]}",
            "issues": "Offer: " + ", ".join(f"{name} 0" for name in self.names),
        }[self.style]
        ways = [f"[{example}]"] * can_offer + ["[Accept]", "[Deny]"] * stands
        return f"Answer {' or '.join(ways)}."

    def _offer(self, state: Bargains, i: int, said: str, text: str) -> Action:
        player = int(state.now[i, MOVER])
        if self.style == "issues":
            options = self._read(said, text, _ISSUE, names_first=True)
            if len(options) != len(self.names):
                missing = ", ".join(name for name in self.names if name not in options)
                raise InvalidAction(f"{told(text)} leaves out {missing}. {self._out()}")
            chosen = [options[name] for name in self.names]
        elif self.style == "divide":
            kept = self._read(said, text, _PART)
            chosen = [self.share(state, i, k, kept.get(name, 0), player) for k, name in enumerate(self.names)]
        else:
            give, arrow, take = (part.strip() for part in said.partition("->"))
            if not arrow:
                raise InvalidAction(
                    f"{told(text)} has no ->, which parts what you give from what you get. {self._out()}"
                )
            given, taken = self._read(give, text, _PART), self._read(take, text, _PART)
            both = [name for name in self.names if given.get(name, 0) and taken.get(name, 0)]
            if both:
                raise AmbiguousAction(f"{told(text)} gives and takes {both[0]}. {self._out()}")
            change = [taken.get(name, 0) - given.get(name, 0) for name in self.names]
            chosen = [self.share(state, i, k, self.own(state, i, k, player) + c, player) for k, c in enumerate(change)]
        for k, option in enumerate(chosen):
            if not 0 <= option < state.options[i, k]:
                what = "options" if self.style == "issues" else "of them"
                count = int(state.options[i, k]) - (self.style != "issues")
                raise IllegalAction(
                    f"{told(text)} asks too much of {self.names[k]}: there are {count} {what}. {self._out()}"
                )
        return self.number(chosen)

    def _read(self, said: str, text: str, pattern: re.Pattern[str], names_first: bool = False) -> dict[str, int]:
        """Numbers by name, from ``2 book, 1 ball``; ``nothing`` is none."""
        found: dict[str, int] = {}
        if not names_first and said.lower() == "nothing":
            return found
        known = {name.lower(): name for name in self.names}
        for part in said.split(","):
            read = pattern.fullmatch(part.strip())
            number, name = (read[2], read[1]) if read and names_first else (read[1], read[2]) if read else ("", "")
            if name.lower() not in known:
                raise InvalidAction(
                    f"{told(text)}: {told(part.strip())} cannot be read; the names are {', '.join(self.names)}. "
                    f"{self._out()}"
                )
            if known[name.lower()] in found:
                raise AmbiguousAction(f"{told(text)} names {name} twice. {self._out()}")
            found[known[name.lower()]] = int(number)
        return found

    def _need_legal(self, state: Bargains, i: int, action: Action, text: str) -> None:
        now = state.now[i]
        if now[OVER]:
            raise IllegalAction(f"{told(text)} comes after the end of the negotiation.")
        if action >= self.offers:
            if now[PROPOSER] < 0:
                raise IllegalAction(f"{told(text)}, but no offer stands. Make an offer.")
            return
        left, players = int(state.rules[i, TURNS] - now[TURN]), state.values.shape[1]
        if left < players:
            raise IllegalAction(f"{told(text)} comes too late: all could not accept in {left} turns. Accept or deny.")
        if all(option_of(state, i, action, k) == state.held[i, k] for k in range(len(self.names))):
            raise IllegalAction(f"{told(text)} would change nothing. {self._out()}")

    # -- positions -----------------------------------------------------------------------------------------------------

    def describe(self, state: Bargains, i: int, player: Player) -> str:
        """What a player knows, and how to answer."""
        now, players = state.now[i], state.values.shape[1]
        left = int(state.rules[i, TURNS] - now[TURN])
        lines = [f"You are player {player} of {players}. {left} of {int(state.rules[i, TURNS])} turns are left."]
        lines += self._values(state, i, player)
        for p in range(players):
            if state.last[i, p] >= 0 and p != now[PROPOSER]:
                lines.append(f"{_who(p, player)} last offered: {self._told(state, i, p, player)}.")
        if now[PROPOSER] >= 0:
            agreed = f" {int(now[YES])} accepted." if players > 2 else ""
            lines.append(
                f"{_who(now[PROPOSER], player)} now offered: {self._told(state, i, now[PROPOSER], player)}.{agreed}"
            )
        if now[OVER]:
            lines.append(f"The negotiation is over. You have {utility(state, i, player)}.")
        elif now[MOVER] != player:
            lines.append(f"Player {int(now[MOVER])} speaks.")
        elif now[PROPOSER] >= 0:
            lines.append("Accept, Deny" + (", or make another offer." if left >= players else "."))
        else:
            lines.append("Make an offer.")
        if not now[OVER] and now[MOVER] == player:
            lines.append(self._out(bool(now[PROPOSER] >= 0), left >= players))
        return "\n".join(lines)

    def _told(self, state: Bargains, i: int, proposer: int, player: Player) -> str:
        """A player's latest offer, from another one's side."""
        said = self.deal(state, i, int(state.last[i, proposer]), player)
        if self.style == "issues":
            return said
        if self.style == "divide":
            return f"you get {said}"
        give, _, take = said.partition(" -> ")
        return f"you give {give} and get {take}"

    def _values(self, state: Bargains, i: int, player: Player) -> list[str]:
        """The own values, which the others do not know."""
        values = state.values[i, player]
        if self.style == "issues":
            rows = [
                f"{name}: " + ", ".join(f"option {o} is worth {int(values[k, o])}" for o in range(state.options[i, k]))
                for k, name in enumerate(self.names)
            ]
            return ["Your values:", *rows]
        lines = []
        for k, name in enumerate(self.names):
            count, each = int(state.options[i, k]) - 1, self.each(state, i, k, player)
            have = (
                f"You have {self.own(state, i, k, player)} of {count}"
                if self.style == "trade"
                else f"There are {count}"
            )
            lines.append(f"{have} {name}, worth {each} each to you.")
        if self.style == "trade":
            lines.append(
                f"What you have is worth {utility(state, i, player)}; at first it was {base(state, i, player)}."
            )
        return lines

    def each(self, state: Bargains, i: int, kind: int, player: Player) -> int:
        """What one item of a kind is worth to a player."""
        count = int(state.options[i, kind]) - 1
        return int(state.values[i, player, kind, 1 if player == 0 else count - 1])

    def compact(self, state: Bargains, i: int, player: Player) -> str:
        """``P0 9 10x5 10x15 - 3,12!>``: seat, turns left, own items and values, what each offer would leave one.

        The own latest offer comes first; the standing one has an exclamation mark.
        """
        now = state.now[i]
        parts = [f"P{player}", str(int(state.rules[i, TURNS] - now[TURN]))]
        for k in range(len(self.names)):
            if self.style == "issues":
                parts.append(".".join(str(int(v)) for v in state.values[i, player, k, : state.options[i, k]]))
            else:
                count = self.own(state, i, k, player) if self.style == "trade" else int(state.options[i, k]) - 1
                parts.append(f"{count}x{self.each(state, i, k, player)}")
        players = state.values.shape[1]
        for p in ((player + q) % players for q in range(players)):
            offer = int(state.last[i, p])
            said = "-"
            if offer >= 0:
                shares = self.options(offer)
                if self.style != "issues":
                    shares = [self.share(state, i, k, o, player) for k, o in enumerate(shares)]
                said = ",".join(map(str, shares)) + ("!" if p == now[PROPOSER] else "")
            parts.append(said)
        if players > 2:
            parts.append(f"y{int(now[YES])}")
        if now[OVER]:
            parts.append("over")
        return " ".join(parts) + ">"

    def goal(self, state: Bargains) -> str:
        """What a player is paid for, in one sentence."""
        return _GOALS[int(state.rules[0, SCORE])]

    def rules(self, state: Bargains) -> str:
        """The rules for a person."""
        turns, players = int(state.rules[0, TURNS]), state.values.shape[1]
        what = {
            "trade": f"Two players trade {' and '.join(self.names)}; each knows only what they are worth to itself.",
            "divide": f"Two players divide {', '.join(self.names)}; each knows only what they are worth to itself.",
            "issues": f"{players} players agree on an option for every issue ({', '.join(self.names)}); each knows "
            "only what the options are worth to itself.",
        }[self.style]
        grammar = {
            "trade": "[Offer: what you give -> what you get]",
            "divide": "[Offer: what you get] (the other gets the rest)",
            "issues": "[Offer: an option for every issue]",
        }[self.style]
        others = "the other accepts" if players == 2 else "all others accept"
        after = "The negotiation goes on after a deal." if state.rules[0, MANY] else "A deal ends the negotiation."
        kept = int(state.rules[0, DISCOUNT])
        fading = f" Every offer after the first leaves {kept / 10:g} % of the gains." if kept < 1000 else ""
        return (
            f"{what} In turn, {turns} turns in all, say {grammar}, [Accept] or [Deny]. A deal is made when {others} "
            f"the offer. {after} Without a deal nobody gains.{fading} {_PAID[int(state.rules[0, SCORE])]}"
        )


def _who(speaker: int, player: Player) -> str:
    return "You" if speaker == player else f"Player {int(speaker)}"
