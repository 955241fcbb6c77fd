"""Matches: their fairness, that nothing but the seed decides them, what is asked of players, and hand-computed statistics."""

from __future__ import annotations

import io
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from rummy_env.arena import Match, MatchResult, play_match, summarize
from rummy_env.arena.report import describe, print_report, to_dict
from rummy_env.arena.stats import Estimate, by_entrant, estimate, paired, places, share_estimate
from rummy_env.engine.tables import compile_tables
from rummy_env.players import FunctionPlayer, Player
from rummy_env.players.drive import BUYS, DOWN, OUT, POINTS, ROUNDS, TALLY, TURNS
from rummy_env.players.greedy import greedy_move
from rummy_env.rules import Rules, preset

RULES = preset("international")
BASIC = preset("basic")


def outside_greedy(name: str = "outside", rules: Rules = RULES) -> FunctionPlayer:
    """Greedy as a player that the compiled loops cannot seat."""
    tables, stream = compile_tables(rules), np.zeros(2, np.uint64)
    return FunctionPlayer(lambda view, mask: int(greedy_move(tables, view, mask, stream)), name)


def same(one: MatchResult, other: MatchResult) -> bool:
    return np.array_equal(one.seating, other.seating) and np.array_equal(one.tallies, other.tallies)


# Seatings


@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_everybody_sits_in_every_seat_of_every_deal_once(number: int) -> None:
    result = play_match(RULES, ["dumper"] * number, deals=3)
    assert result.seating.shape == (3, number, number)
    for tables in result.seating:
        for rows in (tables, tables.T):
            assert all(sorted(row) == list(range(number)) for row in rows.tolist())


def test_who_follows_whom_varies_between_deals_only() -> None:
    """The seatings of a deal are rotations of one circle; over the deals every circle occurs about equally often."""
    result = play_match(RULES.replace(max_turns=1), ["dumper"] * 4, deals=120)
    circles = []
    for tables in result.seating:
        starts = {tuple(np.roll(row, -list(row).index(0)).tolist()) for row in tables}
        assert len(starts) == 1
        circles.extend(starts)
    assert set(circles) == {(0, *rest) for rest in permutations((1, 2, 3))}
    assert max(map(circles.count, circles)) < 40


def test_copies_of_the_last_player_fill_the_table() -> None:
    result = play_match(RULES, ["random", "dumper"], deals=2, seats=4)
    for tables in result.seating:
        assert tables.shape == (4, 4)
        assert (tables == 0).sum(axis=0).tolist() == [1, 1, 1, 1] == (tables == 0).sum(axis=1).tolist()


def test_more_players_than_seats_meet_in_every_choice() -> None:
    result = play_match(RULES, ["random", "dumper", "dumper", "dumper"], deals=2, seats=2)
    for tables in result.seating:
        assert sorted(map(tuple, tables.tolist())) == list(permutations(range(4), 2))


def test_games_are_rounded_up_to_whole_deals() -> None:
    match = Match(RULES, ["dumper"] * 3, games=10)
    assert (match.deals, match.tables_per_deal, match.games) == (4, 3, 12)
    assert Match(RULES, ["dumper"] * 3, games=12).games == 12


# Fairness


@pytest.mark.parametrize("rounds", ["random", "all"])
@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("rules", [RULES, BASIC], ids=["international", "basic"])
def test_equal_deterministic_players_are_exactly_equal(rules: Rules, number: int, rounds: str) -> None:
    """Every seating of a deal is then the same game, so over the rotations each player has what the table has."""
    result = play_match(rules, ["greedy"] * number, deals=8, rounds=rounds)
    assert (result.tallies == result.tallies[:, :1]).all()
    for entrant in range(number):
        own = result.tallies[result.seating == entrant].reshape(8, number, len(TALLY))
        assert (own.sum(axis=1) == result.tallies[:, 0].sum(axis=1)).all()
    found = summarize(result)
    assert {player.points for player in found.players} == {found.players[0].points}
    assert [player.win_share for player in found.players] == [Estimate(*[pytest.approx(1 / number)] * 3)] * number
    assert all(difference.points == Estimate(0.0, 0.0, 0.0) for difference in found.differences)


def test_equal_random_players_differ_by_chance_only() -> None:
    """They throw their own dice at every table; no place in the list is favoured."""
    result = play_match(RULES, ["random"] * 3, deals=120)
    assert (result.tallies != result.tallies[:, :1]).any()
    for difference in summarize(result).differences:
        assert abs(difference.points.mean) < 25


# What decides a match


@pytest.mark.parametrize("players", [["greedy", "random", "dumper"], ["random", outside_greedy()]])
def test_the_number_of_tables_at_once_changes_nothing(players: list[Any]) -> None:
    whole = play_match(RULES, players, deals=7, seed=5)
    for chunk in (1, 7, 1000):
        assert same(whole, play_match(RULES, players, deals=7, seed=5, chunk=chunk))


def test_the_seed_decides() -> None:
    one, again = (play_match(RULES, ["greedy", "random"], deals=6, seed=5) for _ in range(2))
    assert same(one, again)
    assert not same(one, play_match(RULES, ["greedy", "random"], deals=6, seed=6))


def test_more_deals_go_on_from_fewer() -> None:
    few, many = (play_match(RULES, ["greedy", "random"], deals=deals, seed=2) for deals in (4, 9))
    assert np.array_equal(few.tallies, many.tallies[:4])


@pytest.mark.parametrize("rounds", ["random", "all"])
def test_outside_players_play_the_match_of_basic(rounds: str) -> None:
    compiled, outside = (
        play_match(BASIC, [player, "random"], deals=4, seats=3, rounds=rounds)
        for player in ("greedy", outside_greedy(rules=BASIC))
    )
    assert same(compiled, outside)


def test_outside_players_play_the_match_of_the_compiled_loops() -> None:
    compiled = play_match(RULES, ["greedy", "random"], deals=10, seats=4, rounds="random")
    assert same(compiled, play_match(RULES, [outside_greedy(), "random"], deals=10, seats=4))
    both = play_match(RULES, [outside_greedy("one"), outside_greedy("two")], deals=4, rounds="all")
    assert same(play_match(RULES, ["greedy", "greedy"], deals=4, rounds="all"), both)


def test_an_interrupted_match_keeps_its_deals_and_goes_on() -> None:
    match = Match(RULES, ["greedy", "random"], deals=10, chunk=4)

    def stop(finished: int) -> None:
        if finished >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match.play(stop)
    whole = play_match(RULES, ["greedy", "random"], deals=10)
    part = match.result()
    assert (part.deals, part.games, part.complete) == (4, 8, False)
    assert np.array_equal(part.tallies, whole.tallies[:4])
    assert "interrupted after 8 of 20 games" in describe(part)[0]
    assert same(match.play(), whole) and match.result().complete


def test_progress_counts_to_the_end() -> None:
    seen: list[int] = []
    play_match(RULES, ["dumper", outside_greedy()], deals=6, chunk=4, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 12 and len(seen) > 10


# Rounds


def test_rounds() -> None:
    """One round a game, whole games, or the rounds that are listed."""
    one = play_match(RULES, ["dumper"] * 2, deals=2)
    assert (one.tallies[..., ROUNDS] == 1).all() and one.rounds == "random"
    whole = play_match(RULES, ["dumper"] * 2, deals=2, rounds="all")
    assert (whole.tallies[..., ROUNDS] == 7).all() and whole.rounds == "all"
    some = play_match(RULES, ["dumper"] * 2, deals=2, rounds=[7, 1, 1])
    assert (some.tallies[..., ROUNDS] == 3).all() and some.rounds == (7, 1, 1)
    single = play_match(RULES, ["dumper"] * 2, deals=2, rounds=3)
    assert (single.tallies[..., ROUNDS] == 1).all() and single.rounds == (3,)


def test_games_of_free_melds() -> None:
    """One deal, or whole games, which end at the target or after so many deals; there are no rounds to choose."""
    one = play_match(BASIC, ["greedy", "random"], deals=3)
    assert (one.tallies[..., ROUNDS] == 1).all() and "one deal a game" in describe(one)[0]
    whole = play_match(BASIC, ["greedy", "random"], deals=3, rounds="all")
    assert (whole.tallies[..., POINTS].max(axis=-1) >= 100).all() and (whole.tallies[..., ROUNDS] > 1).any()
    assert "whole games (to 100 points, at most 100 deals)" in describe(whole)[0]
    for game_end, text in (({"deals": 2}, "(2 deals)"), ({"deals": 1}, "(1 deal)")):
        some = play_match(BASIC.replace(game_end=game_end), ["dumper"] * 2, deals=2, rounds="all")
        assert (some.tallies[..., ROUNDS] == game_end["deals"]).all() and text in describe(some)[0]
    for rounds in (1, [1], [1, 2], "1"):
        with pytest.raises(ValueError, match=r"^rounds must be random"):
            play_match(BASIC, ["dumper"] * 2, deals=2, rounds=rounds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"for the rules 'basic': melds are free \(contracts is null\)$"):
        play_match(BASIC, ["dumper"] * 2, deals=2, rounds=3)


class Watcher(Player):
    """Plays the first legal move and notes which rounds it sees."""

    def __init__(self) -> None:
        super().__init__("watcher")
        self.seen: list[int] = []

    def act(self, view: Any, mask: np.ndarray) -> int:
        self.seen.append(int(view.round_number))
        return int(np.flatnonzero(mask)[0])


def test_random_rounds_are_drawn_from_those_of_the_rules() -> None:
    watcher = Watcher()
    play_match(RULES.replace(max_turns=2), [watcher, "dumper"], deals=60)
    assert set(watcher.seen) == set(range(1, 8))
    watcher = Watcher()
    play_match(RULES.replace(max_turns=2, rounds=[2, 5]), [watcher, "dumper"], deals=20)
    assert set(watcher.seen) == {2, 5}


# Bad input


@pytest.mark.parametrize(
    ("players", "options", "message"),
    [
        ([], {"games": 2}, "a match needs players, none are given"),
        (["greedy"], {"games": 2}, "seats must be from 2 to 6, not 1 listed"),
        (["greedy"] * 7, {"games": 2}, "seats must be from 2 to 6, not 7 listed"),
        (["greedy", "random"], {"games": 2, "seats": 7}, "seats must be from 2 to 6, not 7"),
        (["greedy", "random"], {"games": 2, "seats": 2.0}, "seats must be a whole number, not 2.0"),
        (["greedy", "nobody"], {"games": 2}, "no such player: 'nobody'"),
        (["greedy", "random"], {"games": 0}, "games must be a whole number from 1 up, not 0"),
        (["greedy", "random"], {"deals": True}, "deals must be a whole number from 1 up, not True"),
        (["greedy", "random"], {}, "give either games or deals"),
        (["greedy", "random"], {"games": 2, "deals": 1}, "give either games or deals"),
        (["greedy", "random"], {"games": 2, "seed": -1}, "seed must be a whole number from 0 up"),
        (["greedy", "random"], {"games": 2, "seed": None}, "seed must be a whole number from 0 up, not None"),
        (["greedy", "random"], {"games": 2, "rounds": "some"}, "rounds must be random, all, .* not 'some'"),
        (["greedy", "random"], {"games": 2, "rounds": [1, 8]}, "rounds of the rules 'international' are 1 to 7, not 8"),
        (["greedy", "random"], {"games": 2, "names": ["one"]}, "names must be one for each of the 2 players, not 1"),
    ],
)
def test_bad_input_is_named(players: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_match(RULES, players, **options)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda view, mask: int(np.flatnonzero(mask == 0)[0]), "player 'wrong' chose .*, which is not legal there"),
        (lambda view, mask: len(mask), "player 'wrong' chose move 1141, which is not legal there"),
        (lambda view, mask: -1, "player 'wrong' chose move -1, which is not legal there"),
    ],
)
def test_an_illegal_move_ends_the_match(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_match(RULES, [FunctionPlayer(answer, "wrong"), "dumper"], deals=1)


class Mumbler(Player):
    def act_many(self, views: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return np.zeros(len(views) + 1)


def test_answers_of_another_form_end_the_match() -> None:
    with pytest.raises(ValueError, match="player 'mumbler' must answer each of 2 Views with a whole number, not"):
        play_match(RULES, [Mumbler("mumbler"), "dumper"], deals=1)


def test_equal_names_are_numbered() -> None:
    assert Match(RULES, ["greedy", "random", "greedy"], games=2).names == ("greedy", "random", "greedy #2")


# Strength


@pytest.mark.parametrize("opponent", ["random", "dumper"])
@pytest.mark.parametrize("rules", ["basic", "basic_modern", "block"])
def test_greedy_is_better_where_melds_are_free(rules: str, opponent: str) -> None:
    """It has more points a deal where most win, fewer in `block`, and the report says that it is the better one."""
    result = play_match(rules, ["greedy", opponent], games=200)
    found = summarize(result)
    sign = 1 if rules != "block" else -1
    assert sign * found.differences[0].points.mean > 4
    assert found.players[0].win_share.mean > 0.6 and found.players[0].place.mean < found.players[1].place.mean
    text = report(result)
    assert f"{'Fewest' if rules == 'block' else 'Most'} points win; " in text and "points a round; greedy is better" in text
    other = report(play_match(rules, [opponent, "greedy"], games=200))
    assert "points a round; greedy is better" in other and f"{opponent} minus greedy: {'-' if sign > 0 else '+'}" in other


def report(result: MatchResult) -> str:
    """The printed report."""
    console = Console(width=120, record=True, file=io.StringIO())
    print_report(result, console)
    return console.export_text()


@pytest.mark.parametrize("opponent", ["random", "dumper"])
def test_greedy_wins_at_least_95_in_100_games_of_one_round(opponent: str) -> None:
    found = summarize(play_match(RULES, ["greedy", opponent], games=400))
    assert found.players[0].win_share.mean >= 0.95


# Statistics


def test_t_interval() -> None:
    """1 to 5: mean 3, deviation sqrt(2.5), t of 4 degrees of freedom 2.776445, so 3 ± 2.776445 * sqrt(2.5 / 5)."""
    found = estimate(np.array([1, 2, 3, 4, 5]))
    assert (found.mean, found.low, found.high) == pytest.approx((3, 3 - 1.963243, 3 + 1.963243), abs=1e-6)
    assert estimate(np.array([7])) == Estimate(7.0, None, None)
    assert estimate(np.array([2, 2, 2])) == Estimate(2.0, 2.0, 2.0)


def test_shares_stay_between_0_and_1_and_always_have_a_width() -> None:
    """Ten of ten: the Clopper-Pearson bound 1 - 0.3085."""
    found = share_estimate(np.ones(10))
    assert (found.mean, found.low, found.high) == pytest.approx((1, 1 - 0.3085, 1), abs=1e-4)
    found = share_estimate(np.zeros(10))
    assert (found.mean, found.low, found.high) == pytest.approx((0, 0, 0.3085), abs=1e-4)
    found = share_estimate(np.array([1, 1, 1, 0]))
    assert found.high == 1 and found.low == pytest.approx(max(0.0, 0.75 - 3.182446 * 0.5 / 2), abs=1e-6)
    assert share_estimate(np.array([0.5])) == Estimate(0.5, None, None)


def test_places_and_wins_split_ties() -> None:
    points = np.array([[10, 0, 30, 20], [5, 5, 0, 0], [1, 1, 1, 1]])
    place, share = places(points, fewest_win=True)
    assert place.tolist() == [[2, 1, 4, 3], [3.5, 3.5, 1.5, 1.5], [2.5] * 4]
    assert share.tolist() == [[0, 1, 0, 0], [0, 0, 0.5, 0.5], [0.25] * 4]
    place, share = places(points, fewest_win=False)
    assert place.tolist() == [[3, 4, 1, 2], [1.5, 1.5, 3.5, 3.5], [2.5] * 4]
    assert share.tolist() == [[0, 0, 1, 0], [0.5, 0.5, 0, 0], [0.25] * 4]


def test_a_deal_is_one_observation() -> None:
    values = np.array([[[1, 2], [3, 5]], [[10, 20], [30, 70]]])
    seating = np.array([[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    assert by_entrant(values, seating, 2).tolist() == [[3.0, 2.5], [25.0, 40.0]]
    assert paired(values, np.ones_like(values), seating, 0, 1).tolist() == [0.5, -15.0]
    assert paired(values, np.full_like(values, 5), seating, 0, 1).tolist() == pytest.approx([0.1, -3.0])


def test_copies_count_by_the_mean_of_their_seats() -> None:
    values, seating = np.array([[[6, 1, 3], [4, 4, 0]]]), np.array([[[0, 1, 1], [1, 0, 1]]])
    assert by_entrant(values, seating, 2).tolist() == [[5.0, 2.0]]
    assert paired(values, np.ones_like(values), seating, 0, 1).tolist() == [3.0]


def test_differences_are_of_shared_tables() -> None:
    """Three entrants in pairs: a difference looks at the tables of that pair alone."""
    values = np.array([[[1, 4], [10, 30], [100, 500]]])
    seating = np.array([[[0, 1], [0, 2], [1, 2]]])
    assert paired(values, np.ones_like(values), seating, 0, 1).tolist() == [-3.0]
    assert paired(values, np.ones_like(values), seating, 0, 2).tolist() == [-20.0]
    assert paired(values, np.ones_like(values), seating, 2, 1).tolist() == [400.0]


def hand_made(tallies: np.ndarray, seating: np.ndarray, rules: Rules = RULES) -> MatchResult:
    names = ("one", "two")
    return MatchResult(rules, names, 2, "random", 0, len(tallies), seating.astype(np.int8), tallies.astype(np.int32))


def test_summary_of_a_match_by_hand() -> None:
    """Two deals of two rounds in two seatings."""
    tallies = np.zeros((2, 2, 2, len(TALLY)))
    tallies[..., ROUNDS] = 2
    seating = np.array([[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    tallies[..., POINTS] = [[[0, 20], [30, 10]], [[8, 8], [16, 24]]]  # one: 0, 10 | 8, 16; two: 20, 30 | 8, 24
    tallies[..., DOWN] = [[[2, 1], [1, 2]], [[0, 2], [2, 0]]]  # one: 2, 2 | 2, 2
    tallies[..., OUT] = [[[2, 0], [0, 1]], [[0, 0], [1, 0]]]  # one: 2, 1 | 0, 1
    tallies[..., TURNS] = [[[10, 12], [14, 20]], [[6, 8], [10, 4]]]  # one: 10, 20 | 8, 10
    tallies[..., BUYS] = [[[1, 0], [0, 1]], [[0, 0], [4, 0]]]  # one: 1, 1 | 0, 4
    found = summarize(hand_made(tallies, seating))
    one, two = found.players
    assert (one.name, two.name, found.even_share) == ("one", "two", 0.5)
    half = 12.706205 * np.std([2.5, 6.0], ddof=1) / np.sqrt(2)
    assert (one.points.mean, one.points.low, one.points.high) == pytest.approx((4.25, 4.25 - half, 4.25 + half), abs=1e-5)
    assert two.points.mean == pytest.approx((12.5 + 8) / 2)
    assert (one.win_share.mean, two.win_share.mean) == (0.875, 0.125)
    assert (one.place.mean, two.place.mean) == (1.125, 1.875)
    assert (one.laid_down.mean, one.went_out.mean, one.turns.mean, one.buys.mean) == (1.0, 0.5, 6.0, 0.75)
    assert found.differences[0].points.mean == pytest.approx((-10 - 2) / 2)
    assert (found.differences[0].first, found.differences[0].second) == ("one", "two")


def test_the_counts_are_those_of_the_games() -> None:
    """One goes out at most in a round, who is out has laid down and no points, and greedy needs turns for that."""
    result = play_match(RULES, ["greedy", "random"], deals=30, seats=3, rounds="all")
    outs = result.tallies[..., OUT].sum(axis=-1)
    assert ((outs >= 0) & (outs <= 7)).all() and outs.sum() > 0
    assert (result.tallies[..., OUT] <= result.tallies[..., DOWN]).all()
    assert (result.tallies[..., DOWN] <= result.tallies[..., ROUNDS]).all()
    assert (result.tallies[..., TURNS] > 0).all() and (result.tallies[..., BUYS] >= 0).all()
    assert (result.tallies[..., POINTS][result.tallies[..., OUT] == 7] == 0).all()


def test_the_counts_are_those_of_the_games_of_basic() -> None:
    """Only who is out has points; nobody needs a meld of the own for it."""
    result = play_match(BASIC, ["greedy", "random"], deals=30, seats=3)
    outs, points = result.tallies[..., OUT], result.tallies[..., POINTS]
    assert set(outs.sum(axis=-1).ravel().tolist()) == {0, 1}
    assert (points[outs == 0] == 0).all() and (points[outs == 1] >= 0).all() and points.any()
    assert (result.tallies[..., BUYS] == 0).all()


def test_nothing_is_said_of_no_deals() -> None:
    result = Match(RULES, ["greedy", "random"], deals=3).result()
    with pytest.raises(ValueError, match="no deal of the match was completed"):
        summarize(result)
    assert to_dict(result)["players"] == [] and to_dict(result)["games"] == 0
