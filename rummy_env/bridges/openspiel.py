"""Every rule set as a game of OpenSpiel: ``pyspiel.load_game("rummy_env", {"rules": "configs/tiny.yaml"})``.

Importing this module registers the game. The engine plays it; what stands here is where chance comes in. The first dealer, the
cards of a deal and every card drawn from a hidden stock are chance nodes with explicit probabilities. A drawn card is realised
by moving its kind to the top of the stock before the engine draws, so the engine's own generator decides nothing.

Actions are the ids of the move table. Chance outcomes are kinds of card, for the first dealer seats. Returns are those of the
reward ``points``, summed over the rounds and paid at the end of the game.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyspiel

from rummy_env.cards import KIND_TEXTS, NUM_KINDS, WILD, kind_text
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import deal_round, start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.state import ENDS, MAX_PLAYERS, OVER, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import check_players
from rummy_env.melds import pack_of
from rummy_env.moves import MoveType, move_table
from rummy_env.observation import decode, encode, observation_plan, observation_size
from rummy_env.position import hand_text
from rummy_env.rewards import POINTS_PER_REWARD, rewards_for
from rummy_env.rules import PRESETS, Rules, resolve_rules

NAME = "rummy_env"
ALL_ROUNDS = "all"
BY_CHANCE = -1
"""As the dealer: the first one is drawn."""
_DEFAULTS = {"rules": "international", "players": 2, "rounds": ALL_ROUNDS, "dealer": BY_CHANCE}
_JSON = "json:"
_ONLY = "only "  # without a word before it, the number of a single round would be read from a game's string as no text

GAME_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Rummy",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=_DEFAULTS,
)


def load_game(
    rules: str | Path | Rules,
    players: int = 2,
    rounds: Sequence[int] | None = None,
    dealer: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """A pyspiel game of any rule set, with arguments as in `rummy_env.Game`; the dealer None is drawn by a chance node.

    The game's string holds the whole rule set, so that it can be loaded and its states deserialized anywhere. Raises
    ValueError for anything that is not allowed, naming it.
    """
    return pyspiel.load_game(
        NAME,
        {
            "rules": _rules_text(resolve_rules(rules, overrides)),
            "players": players,
            "rounds": _rounds_text(rounds),
            "dealer": BY_CHANCE if dealer is None else dealer,
        },
    )


def _rules_text(rules: Rules) -> str:
    """A preset's name, or all fields as JSON, quoted: a game's string may hold no brackets, commas or equals signs."""
    if PRESETS.get(rules.name) == rules:
        return rules.name
    return _JSON + quote(json.dumps(rules.to_dict()), safe="")


def _read_rules(given: object) -> Rules:
    if not isinstance(given, str):
        raise ValueError(f"rules must be a preset's name, the path of a YAML file or {_JSON}…, not {given!r}")
    if not given.startswith(_JSON):
        return resolve_rules(given)
    try:
        fields = json.loads(unquote(given[len(_JSON) :]))
    except ValueError as error:
        raise ValueError(f"rules: {_JSON} must be followed by JSON, quoted as in an address: {error}") from None
    return Rules.from_dict(fields)


def _read_rounds(given: object) -> list[int] | None:
    if given == ALL_ROUNDS:
        return None
    words = str(given).removeprefix(_ONLY).split()
    if not words or not all(word.isdecimal() for word in words):
        raise ValueError(f"rounds must be {ALL_ROUNDS!r}, or {_ONLY!r} and numbers with spaces between, not {given!r}")
    return [int(word) for word in words]


def _rounds_text(rounds: Sequence[int] | None) -> str:
    return ALL_ROUNDS if rounds is None else _ONLY + " ".join(map(str, rounds))


class RummyGame(pyspiel.Game):
    """A rule set with a number of players.

    Parameters:
        rules: a preset's name, the path of a YAML file, or ``json:`` and quoted JSON of the fields, as `load_game` writes it.
        players: how many sit at the table.
        rounds: ``all`` rounds of the rules, or ``only`` and their numbers with spaces between, such as ``only 1 3``.
        dealer: the seat that deals first; -1 has it drawn by a chance node.

    The bounds of the utility and of the length of a game are true but not close: a hand that holds the dearest cards of
    the pack, as many as one can hold, against one that holds nothing, in every round.

    Raises ValueError for a parameter that is not allowed.
    """

    def __init__(self, params: Mapping[str, Any] | None = None):
        given: dict[str, Any] = {**_DEFAULTS, **(params or {})}
        if unknown := sorted(set(given) - set(_DEFAULTS)):
            raise ValueError(f"no such parameter: {', '.join(unknown)}; there are {', '.join(_DEFAULTS)}")
        rules, rounds = _read_rules(given["rules"]), _read_rounds(given["rounds"])
        self.rules = rules if rounds is None else rules.replace(rounds=rounds)
        self.tables = compile_tables(self.rules)
        self.table = move_table(self.rules)
        self.pack = pack_of(self.rules)
        players, dealer = check_players(self.rules, given["players"]), given["dealer"]
        if isinstance(dealer, bool) or dealer not in range(BY_CHANCE, players):
            raise ValueError(f"dealer must be a seat from 0 to {players - 1}, or {BY_CHANCE} to draw it, not {dealer!r}")
        self.dealer = int(dealer)
        self.seats = players
        self.begin = new_states(1)
        last = self.rules.game_rounds - 1
        start_game(self.tables, self.begin[0], players, np.uint64(0), 0, last, max(0, self.dealer), NO_ORDER)
        if self.rules.contracts is None:
            moves, chance, points = (self.rules.game_rounds * bound for bound in _bounds(self.rules, 1, players))
        else:
            bounds = [_bounds(self.rules, number, players) for number in self.rules.sequence]
            moves, chance, points = (sum(column) for column in zip(*bounds, strict=True))
        self._chance_nodes = chance + (self.dealer == BY_CHANCE)
        most = points / POINTS_PER_REWARD
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.table),
            max_chance_outcomes=NUM_KINDS,
            num_players=players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=moves,
        )
        super().__init__(GAME_TYPE, info, {**given, "rounds": _rounds_text(rounds)})

    def new_initial_state(self) -> RummyState:
        """The state before the first chance node."""
        return RummyState(self)

    def max_chance_nodes_in_history(self) -> int:
        """No game has more chance nodes."""
        return self._chance_nodes

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> RummyObserver:
        """The observer of one seat: with perfect recall the sequence of all it saw, else what it can know now."""
        return RummyObserver(self, iig_obs_type, params)


def _bounds(rules: Rules, number: int, players: int) -> tuple[int, int, int]:
    """Bounds of a round: moves, chance nodes, and the points that it moves a score by.

    A turn counts at its draw, and every buy takes a card that a discard, or the deal, has put on the pile.
    """
    dealt = rules.cards_dealt(number, players)
    turns = players * rules.max_turns
    limit = turns + 1 if rules.max_buys is None else rules.max_buys
    buys = min(players * limit, turns + 1)
    entered = dealt * players + turns + buys * (1 + rules.buy_extra)  # so many cards can leave the hands, one by one
    moves = turns + entered + players * (turns + 1 + buys)
    chance = dealt * players + 1 + turns + buys * rules.buy_extra
    points = rules.card_points
    cards = sorted((abs(points["wild" if text == KIND_TEXTS[WILD] else text[0]]) for text in rules.pack()), reverse=True)
    most = sum(cards[: dealt + min(limit, turns + 1) * (1 + rules.buy_extra) + 1])
    if rules.scoring == "winner_takes_sum":
        most *= players - 1
    return moves, chance, most * (2 if rules.going_rummy == "double" else 1) + (10 if rules.going_rummy == "plus_10" else 0)


class RummyState(pyspiel.State):
    """A game in progress: the engine's State, what chance still has to say, and what every seat has seen.

    Attributes are plain values, as OpenSpiel copies and pickles them one by one.
    """

    def __init__(self, game: RummyGame):
        super().__init__(game)
        self._states = game.begin.copy()
        self._needs_dealer = game.dealer == BY_CHANCE
        self._dealt: tuple[int, ...] | None = ()  # cards of the deal so far, None once it is done
        self._move = -1  # a move that waits for cards from the stock
        self._draws = 0  # how many it needs
        self._drawn: tuple[int, ...] = ()  # those it has
        self._seen = ("",) * game.seats

    # What OpenSpiel asks

    def current_player(self) -> int:
        """The seat to act, or that it is chance or nobody."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        if self._needs_dealer or self._dealt is not None or self._move >= 0:
            return int(pyspiel.PlayerId.CHANCE)
        return int(self._states[0].to_act)

    def is_terminal(self) -> bool:
        """Whether the last round has ended."""
        return bool(self._states[0].phase == OVER)

    def returns(self) -> list[float]:
        """Rewards of the scheme ``points`` over all rounds; zeros before the end."""
        state, players = self._states[0], self.num_players()
        if not self.is_terminal():
            return [0.0] * players
        scores = [float(score) for score in state.scores[:players]]
        return rewards_for("points", self.get_game().rules, scores, scores, True)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The kinds that may come next, or the seats that may deal, with their probabilities."""
        if self._needs_dealer:
            players = self.num_players()
            return [(seat, 1 / players) for seat in range(players)]
        counts = self._hidden()
        total = counts.total()
        return [(kind, counts[kind] / total) for kind in sorted(counts)]

    def _legal_actions(self, player: int) -> list[int]:
        tables = self.get_game().tables
        mask = np.zeros(int(tables.num_moves), np.int8)
        legal(tables, self._states[0], mask)
        found: list[int] = np.flatnonzero(mask).tolist()
        return found

    def _apply_action(self, action: int) -> None:
        game, state = self.get_game(), self._states[0]
        if self._needs_dealer:
            self._needs_dealer = False
            state.dealer = action
        elif self._dealt is not None:
            self._deal(game, action)
        elif self._move >= 0:
            self._drawn = (*self._drawn, action)
            if len(self._drawn) == self._draws:
                self._play(game, self._move)
        else:
            self._tell(f" | {int(state.to_act)} {game.table.text(action)}")
            self._draws = self._draws_of(game, action)
            if self._draws:
                self._move = action
            else:
                self._play(game, action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return str(self.get_game().table.text(action))
        return f"dealer {action}" if self._needs_dealer else kind_text(action)

    def __str__(self) -> str:
        return "\n".join(f"seat {seat}: {self.seen(seat)}" for seat in range(self.num_players()))

    # What a seat sees

    def seen(self, seat: int) -> str:
        """All that a seat has observed and done, from the beginning: its perfect recall.

        Cards that come together, in a deal or with a buy, are taken up together: their order is not told.
        """
        text = self._seen[seat]
        if self._dealt:
            text += self._deal_text(self._dealt_hand(seat))
        elif self._drawn and seat == self._states[0].to_act:
            text += self._drawn_text()
        return text.removeprefix(" | ")

    def view(self, seat: int) -> Any:
        """The View of a seat, or None while cards are dealt."""
        if self._needs_dealer or self._dealt is not None:
            return None
        views = new_views(1)
        view(self._states[0], seat, views[0])
        return views[0]

    # Chance

    def _hidden(self) -> Counter[int]:
        """The cards of which the next one is drawn, as counts by kind."""
        state = self._states[0]
        if self._dealt is not None:
            copies = self.get_game().tables.copies
            return Counter({kind: int(count) for kind, count in enumerate(copies) if count}) - Counter(self._dealt)
        stock, pile = _piles(state)
        size = len(stock)
        if len(self._drawn) < size:
            return Counter(stock) - Counter(self._drawn)
        return Counter(pile) - Counter(self._drawn[size:])

    def _draws_of(self, game: RummyGame, move: int) -> int:
        """How many hidden cards a move draws: those that come into the hand without having been seen, in a trial."""
        if game.table[move].type not in (MoveType.STOCK, MoveType.BUY):
            return 0
        trials, state = self._states.copy(), self._states[0]
        trial, seat = trials[0], int(state.to_act)
        apply(game.tables, trial, move, NO_ORDER)
        if trial.rounds_done > state.rounds_done or state.stock_public:  # blocked, or everybody knows the cards
            return 0
        gain = int(trial.hand_size[seat]) - int(state.hand_size[seat])
        gain = max(0, gain - int(trial.known[seat].sum()) + int(state.known[seat].sum()))
        return min(gain, int(state.num_stock)) if trial.stock_public else gain

    def _to_deal(self, game: RummyGame) -> int:
        """Cards of a deal with the up-card."""
        return game.rules.cards_dealt(self._round(game), game.seats) * game.seats + 1

    def _round(self, game: RummyGame) -> int:
        """The number of the round."""
        return game.rules.round_at(int(self._states[0].round_index))

    def _dealt_hand(self, seat: int) -> list[int]:
        """The cards dealt to a seat so far: 53 counts."""
        players, dealt = self.num_players(), self._dealt or ()
        counts = [0] * NUM_KINDS
        first = (seat - int(self._states[0].dealer) - 1) % players
        for kind in dealt[: self._to_deal(self.get_game()) - 1][first::players]:
            counts[kind] += 1
        return counts

    def _deal_text(self, hand: Sequence[int] | np.ndarray) -> str:
        """A deal as the owner of a hand sees it."""
        game = self.get_game()
        return f" | round {self._round(game)} dealer {int(self._states[0].dealer)}: {hand_text(game.pack, hand)}"

    def _drawn_text(self) -> str:
        """The cards drawn for the move that waits, as who draws them sees them."""
        return " " + hand_text(self.get_game().pack, np.bincount(self._drawn, minlength=NUM_KINDS))

    def _deal(self, game: RummyGame, kind: int) -> None:
        """One card of the deal; with the up-card the round begins."""
        assert self._dealt is not None
        self._dealt = (*self._dealt, kind)
        if len(self._dealt) < self._to_deal(game):
            return
        state = self._states[0]
        deck = [*self._dealt, *sorted(self._hidden().elements())]  # the rest in any order: it is drawn by chance nodes
        self._dealt = None
        deal_round(game.tables, state, np.array(deck, np.int8))
        for seat in range(game.seats):
            self._tell(f"{self._deal_text(state.hand[seat])} up {kind_text(int(state.discards[0]))}", seat)

    def _play(self, game: RummyGame, move: int) -> None:
        """Let the engine play a move, the cards drawn for it on top of the stock."""
        state = self._states[0]
        done, formed = int(state.rounds_done), int(state.reshuffles)
        order = NO_ORDER
        if self._drawn:
            self._tell(self._drawn_text(), int(state.to_act))
            stock, pile = _piles(state)
            size = len(stock)
            first, then = self._drawn[:size], self._drawn[size:]
            rest = sorted((Counter(stock) - Counter(first)).elements())
            state.stock[:size] = [*rest, *reversed(first)]
            order = np.array([*then, *sorted((Counter(pile) - Counter(then)).elements())], np.int8)
        apply(game.tables, state, move, order)
        self._move, self._draws, self._drawn = -1, 0, ()
        if state.rounds_done > done:
            points = " ".join(str(int(number)) for number in state.last_points[: game.seats])
            self._tell(f" | {ENDS[state.last_end]} {points}")
            self._dealt = None if state.phase == OVER else ()
        elif state.reshuffles > formed:
            self._tell(" | restock")

    def _tell(self, text: str, only: int | None = None) -> None:
        """Add to what one seat, or everybody, has seen."""
        self._seen = tuple(seen + text if only in (None, seat) else seen for seat, seen in enumerate(self._seen))


def _piles(state: Any) -> tuple[list[int], list[int]]:
    """The stock, and the discards of which a new one would be formed."""
    below = max(0, int(state.num_discards) - 1)
    return state.stock[: state.num_stock].tolist(), state.discards[:below].tolist()


class RummyObserver:
    """What a seat sees, for OpenSpiel.

    With perfect recall: `RummyState.seen`, as a string only. Without: the vector that `rummy_env.observation.layout` describes,
    float32 ``(size,)``, and its numbers by block as a string; zeros and an empty string while cards are dealt.

    Raises ValueError for what no seat sees: public facts alone, or all hands.
    """

    def __init__(self, game: RummyGame, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None):
        if params:
            raise ValueError(f"the observer takes no parameters, not {', '.join(params)}")
        wanted = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if wanted.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER or not wanted.public_info:
            raise ValueError("the observer shows what one seat sees: public_info True and private_info SINGLE_PLAYER")
        self._rules, self._tables, self._recall = game.rules, game.tables, bool(wanted.perfect_recall)
        self.tensor = None if self._recall else np.zeros(observation_size(game.rules), np.float32)
        self.dict = {} if self.tensor is None else {"observation": self.tensor}

    def set_from(self, state: RummyState, player: int) -> None:
        """Write the vector of a seat into `tensor`."""
        if self.tensor is None:
            return
        found = state.view(player)
        if found is None:
            self.tensor[:] = 0
        else:
            encode(self._tables, observation_plan(self._rules), found, self.tensor)

    def string_from(self, state: RummyState, player: int) -> str:
        """What a seat sees, as text."""
        if self.tensor is None:
            return state.seen(player)
        self.set_from(state, player)
        parts = []
        for name, numbers in decode(self._rules, self.tensor).items():
            parts.append(f"{name}: {', '.join(f'{label} {number}' for label, number in numbers.items())}")
        return "; ".join(parts)


pyspiel.register_game(GAME_TYPE, RummyGame)
