"""Properties of games under any rules, as a state machine: Hypothesis picks the rules and the moves, and shrinks what fails.

Every machine plays one game twice. One of the two is saved and restored again and again, and is asked for illegal moves;
the other only plays. They have to stay equal, byte for byte.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter

import numba
import numpy as np
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from rummy_env.cards import KIND_TEXTS
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.state import STATE
from rummy_env.engine.tables import compile_tables
from rummy_env.game import Game, replay
from rummy_env.melds import pack_of
from rummy_env.moves import MoveType
from rummy_env.position import meld_of
from rummy_env.rewards import GAME_SCHEMES, ROUND_SCHEMES, utilities
from tests.lockstep import RULES, mixed_setting
from tests.test_information import observer, rearranged

WISHES = (MoveType.LAY, MoveType.OFF_GROUP, MoveType.OFF_LOW, MoveType.OFF_HIGH, MoveType.BUY, MoveType.TAKE, MoveType.STOCK)
"""What a step may wish for: without wishes hardly any game gets beyond its draws and discards."""

EXAMPLES = 6 if numba.config.DISABLE_JIT else 150
"""Without compilation a game takes a hundred times as long."""

numbers = st.integers(0, 2**32 - 1)


class OneGame(RuleBasedStateMachine):
    """A game under drawn rules of International or of Basic, of 2 to 6 players."""

    game: Game  # saved, restored, asked for what is illegal
    plain: Game  # plays the same moves and nothing else

    @initialize(game=st.sampled_from(RULES), number=st.integers(0, 10**9), seed=numbers)
    def begin(self, game: str, number: int, seed: int) -> None:
        setting = mixed_setting(number, game)
        self.arguments = (game, setting.players, seed, setting.overrides, setting.rounds or None)
        self.game, self.plain = Game(*self.arguments), Game(*self.arguments)
        self.seen = observer(self.game.rules)
        event(f"{setting.players} players")
        event(game)

    # moves

    @rule(choices=st.lists(numbers, min_size=1, max_size=20), wishes=st.permutations(WISHES))
    def play(self, choices: list[int], wishes: list[MoveType]) -> None:
        """Some moves. When the game ends, it is played again from its seed, and the next begins."""
        for choice in choices:
            self._move(choice, wishes[: choice % 5])
            if self.game.over:
                self.both_are_the_same()
                self.the_same_game_again()
                rules, players, seed, overrides, rounds = self.arguments
                self.arguments = (rules, players, seed + 1, overrides, rounds)
                self.game, self.plain = Game(*self.arguments), Game(*self.arguments)

    def _move(self, choice: int, wishes: list[MoveType]) -> None:
        """A legal move, of the first kind wished for that is legal."""
        moves = self.game.moves()
        for wish in wishes:
            if found := [move for move in moves if move.type == wish]:
                moves = found
                break
        move = moves[choice % len(moves)]
        event(f"{self.game.phase}: {move.type.name}")
        acting, rounds_done = self.game.seat, int(self.game.state.rounds_done)
        before = self.game.view(acting).tobytes()
        assert self.game.play(self.game.table.id(move)) == self.plain.play(move.text)
        if self.game.state.rounds_done > rounds_done:
            self._round_ended()
        else:
            assert self.game.view(acting).tobytes() != before  # whoever acts sees it

    def _round_ended(self) -> None:
        """Rewards: the points pay zero in sum at the end of a round; at the end of the game places do, and a win is shared."""
        last, rules = self.game.last_round, self.game.rules
        assert last is not None
        event(f"round ended: {last.end}")
        assert abs(sum(ROUND_SCHEMES["points"](utilities(rules, last.points)))) < 1e-9
        if last.end == "out":
            self._somebody_is_out(last.points)
        elif rules.blocked_scoring == "none":
            assert not any(last.points)
        if self.game.over:
            final = utilities(rules, self.game.scores)
            assert abs(sum(GAME_SCHEMES["rank"](final))) < 1e-9 and abs(sum(GAME_SCHEMES["win"](final)) - 1) < 1e-9

    def _somebody_is_out(self, points: tuple[int, ...]) -> None:
        """Who goes out is charged nothing, or where most points win is the only one with points; the end by a target."""
        rules, out = self.game.rules, int(self.game.state.last_out)
        if rules.scoring == "losers_penalty":
            assert points[out] == 0
        else:
            assert not any(points[:out] + points[out + 1 :])
        if rules.contracts is None:
            target = (rules.game_end or {}).get("target")
            reached = target is not None and max(self.game.scores) >= target
            assert self.game.over == (reached or int(self.game.state.rounds_done) == rules.game_rounds)
            event(f"out in Basic: {rules.scoring}, over {self.game.over}, target reached {reached}")

    @rule(choice=numbers)
    def illegal_move(self, choice: int) -> None:
        """Refused with its text, and nothing changes."""
        clear = np.flatnonzero(self.game.mask() == 0)
        id_ = int(clear[choice % len(clear)])
        move = self.game.table[id_]
        before, record = self.game.state.tobytes(), self.game.record()
        for form in (id_, move.text, move):
            try:
                self.game.play(form)
            except ValueError as error:
                assert str(error).startswith(f"{move.text}: ") and len(str(error)) > len(move.text) + 3
            else:
                raise AssertionError(f"{move.text} was played, and the mask forbids it")
        assert self.game.state.tobytes() == before and self.game.record() == record

    # saving and restoring

    @rule(way=st.sampled_from(["pickle", "deepcopy", "clone", "bytes", "record"]))
    def restore(self, way: str) -> None:
        """The game goes on from what was saved of it."""
        if way == "pickle":
            self.game = pickle.loads(pickle.dumps(self.game))
        elif way == "deepcopy":
            self.game = copy.deepcopy(self.game)
        elif way == "clone":
            self.game, old = self.game.clone(), self.game
            old.state.counter += np.uint64(1)  # the old one is not the new one's memory
        elif way == "bytes":
            saved = np.frombuffer(self.game.state.tobytes(), STATE)
            self.game = self.game.clone()
            for name in STATE.names:
                self.game.state[name] = saved[0][name]
        else:
            self.game = replay(json.loads(json.dumps(self.game.record())))
        event(f"restored by {way}")

    @rule()
    def reopen(self) -> None:
        """The position sets up the same table again."""
        position = json.loads(json.dumps(self.game.position()))
        again = Game.from_position(position)
        assert again.position() == position
        assert (again.mask() == self.game.mask()).all()

    # what always holds

    @invariant()
    def both_are_the_same(self) -> None:
        assert self.game.state.tobytes() == self.plain.state.tobytes()

    @invariant()
    def cards_are_conserved(self) -> None:
        state, rules = self.game.state, self.game.rules
        cards = Counter(KIND_TEXTS[kind] for kind in (*state.stock[: state.num_stock], *state.discards[: state.num_discards]))
        for hand in state.hand:
            cards.update({KIND_TEXTS[kind]: int(hand[kind]) for kind in np.flatnonzero(hand)})
        pack = pack_of(rules)
        for index in range(int(state.num_melds)):
            cards.update(KIND_TEXTS[kind] for kind in meld_of(pack, state, index).cards)
        assert cards == Counter(rules.pack())

    @invariant()
    def what_is_legal_can_be_played(self) -> None:
        """Every set bit applies, on a copy, and the table then waits for somebody with a move."""
        tables, mask = compile_tables(self.game.rules), self.game.mask()
        assert set(np.unique(mask)) <= {0, 1} and mask.any()
        for id_ in np.flatnonzero(mask):
            copied = self.game.state_copy()
            apply(tables, copied[0], id_, NO_ORDER)
            assert copied.tobytes() != self.game.state.tobytes()

    @invariant()
    def texts_and_ids_are_inverse(self) -> None:
        table = self.game.table
        for id_ in np.flatnonzero(self.game.mask()):
            assert table.id(table.text(int(id_))) == id_ and table.id(table[int(id_)]) == id_

    @rule(choice=numbers)
    def hidden_information_is_hidden(self, choice: int) -> None:
        """Nothing that a seat sees depends on the cards that it cannot know."""
        tables, seat = compile_tables(self.game.rules), choice % self.game.players
        other = rearranged(tables, self.game.state, seat, np.random.default_rng(choice))[0]
        for function in self.seen:
            assert function(tables, self.game.state, seat) == function(tables, other, seat)

    @rule(choice=numbers)
    def what_is_drawn_at_random_looks_the_same(self, choice: int) -> None:
        """A determinized game has the View, the observation and the mask of the seat that it was drawn for."""
        seat = choice % self.game.players
        drawn = self.game.determinize(seat, choice)
        tables = compile_tables(self.game.rules)
        for function in self.seen:
            assert function(tables, self.game.state, seat) == function(tables, drawn.state, seat)
        assert drawn.rules == self.game.rules and drawn.position()["hands"][seat] == self.game.position()["hands"][seat]

    def teardown(self) -> None:
        if hasattr(self, "game"):
            self.the_same_game_again()

    def the_same_game_again(self) -> None:
        """The same seed and moves give the same game."""
        again = Game(*self.arguments)
        for played in self.game.record()["rounds"]:
            for move in played["moves"]:
                if not move.startswith("*"):
                    again.play(move.split(" ", 1)[1])
        assert again.state.tobytes() == self.plain.state.tobytes()
        assert again.record() == self.plain.record()


def test_a_game_under_any_rules() -> None:
    run_state_machine_as_test(
        OneGame,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
