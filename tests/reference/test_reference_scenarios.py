"""The reference against the scenarios, and against itself.

Every entry of every scenario, at every depth, is played from its position afresh. The scenarios are data
beside the repository; where they are not there, these tests are skipped. Random rounds then check what no
scenario lists: that cards are never lost and that a position sets up the table it came from.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from .international import INTERNATIONAL, ReferenceTable, next_round, pack, resolve, sequence
from .melds import LayDown, agree, groups_from, runs_from

SCENARIOS = Path(__file__).resolve().parents[2].parent / "shared" / "scenarios" / "international.jsonl"
REGARDLESS_OF_ORDER = {"passed", "down", "acted"}

Moves = tuple[str, ...]


def load() -> list[dict[str, Any]]:
    """The scenarios, or none where the folder does not exist."""
    if not SCENARIOS.exists():
        return []
    return [json.loads(line) for line in SCENARIOS.read_text(encoding="utf-8").splitlines() if line.strip()]


ALL = load()
needs_scenarios = pytest.mark.skipif(not ALL, reason="the scenarios are not beside this repository")


def entries(stated: dict[str, Any], moves: Moves = ()) -> Iterator[tuple[Moves, dict[str, Any]]]:
    """Each entry with the moves that lead to it, the scenario itself first."""
    yield moves, stated
    for move, entry in stated.get("after", {}).items():
        yield from entries(entry, (*moves, move))


def next_table(table: ReferenceTable) -> ReferenceTable | None:
    """The round that follows a finished one, from a shuffled pack; None where the game is over."""
    assert table.points is not None
    following = next_round(table.rules, sequence(table.rules).index(table.round), table.dealer, table.players)
    if following is None:
        return None
    deck = pack(table.rules)
    random.Random(1).shuffle(deck)
    scores = [score + points for score, points in zip(table.scores, table.points, strict=True)]
    return ReferenceTable.deal(table.rules, table.players, following[0], following[1], deck, scores)


def facts(table: ReferenceTable) -> dict[str, Any]:
    """What an entry may state of a table besides its moves."""
    position = table.position()
    return {
        "phase": table.phase,
        "to_act": table.to_act,
        "hand_sizes": [len(hand) for hand in table.hands],
        "stock_size": len(table.stock),
        "top_discard": table.discards[-1] if table.discards else None,
        "round": position["round"],
        "dealer": position["dealer"],
        "scores": position["scores"],
        "round_end": table.end,
        "points": table.points,
    }


def differences(table: ReferenceTable, stated: dict[str, Any]) -> list[str]:
    """All in which a table differs from what an entry states."""
    found = []
    legal = table.legal()
    known = facts(table)
    for key, value in stated.items():
        if key in ("id", "rule", "position", "after"):
            continue
        if key == "legal":
            if legal != set(value):
                found.append(f"legal: also {sorted(legal - set(value))}, not {sorted(set(value) - legal)}")
        elif key == "legal_includes":
            if not set(value) <= legal:
                found.append(f"legal misses {sorted(set(value) - legal)}")
        elif key == "legal_excludes":
            if set(value) & legal:
                found.append(f"legal should not have {sorted(set(value) & legal)}")
        elif key == "table":
            position = table.position()
            for field, wanted in value.items():
                got = position[field]
                if field in REGARDLESS_OF_ORDER:
                    got, wanted = sorted(got), sorted(wanted)
                if got != wanted:
                    found.append(f"table.{field}: {got}, not {wanted}")
        elif key == "game_over":
            if (next_table(table) is None) != value:
                found.append(f"game_over is not {value}")
        elif key == "next":
            following = next_table(table)
            found += ["no next round"] if following is None else differences(following, value)
        elif known[key] != value:
            found.append(f"{key}: {known[key]}, not {value}")
    return found


@needs_scenarios
@pytest.mark.parametrize("scenario", ALL, ids=[scenario["id"] for scenario in ALL])
def test_scenario(scenario: dict[str, Any]) -> None:
    """Every entry holds, and a position to be refused is refused with one of the words."""
    title = f"{scenario['id']}: {scenario['rule']}"
    if "refused" in scenario:
        with pytest.raises(ValueError) as refusal:
            ReferenceTable.from_position(scenario["position"])
        assert any(word in str(refusal.value) for word in scenario["refused"]), title
        return
    for moves, stated in entries(scenario):
        table = ReferenceTable.from_position(scenario["position"])
        for move in moves:
            table.play(move)
        assert differences(table, stated) == [], f"{title}\nafter {moves}"


VARIANTS: list[dict[str, Any]] = [
    {},
    {"turn_player_may_buy": True, "max_buys": 3, "same_turn_layoff": True, "jokers": 4},
    {"uncovered_live": False, "buy_extra": 2, "max_recycles": 1, "distinct_groups": True,
     "final_discard": True},
    {"stock_out": "end", "buy_extra": 0, "separate_runs": True, "min_naturals": 2,
     "buy_first_upcard": False},
    {"decks": 1, "players_max": 3, "wild_rank": None, "jokers": 4, "min_naturals": 0, "redraw_ban": False},
    {"contracts": [[1, 0], [0, 1]], "deal": [5, 6], "points": "home", "max_turns": 9,
     "layoff_own_only": True},
    {"max_wilds": 1, "buy_when_down": False, "group_max": 4, "run_length": 3, "rounds": [2, 5],
     "deal": "pagat"},
]  # fmt: skip


@pytest.mark.parametrize("overrides", VARIANTS, ids=range(len(VARIANTS)))
def test_random_rounds(overrides: dict[str, Any]) -> None:
    """A game of random moves: no card is lost, some move is legal until the end, and each position sets up a
    table with the same moves. Melding is preferred and pairs are kept, so that melds get on the table."""
    rules = resolve("international", overrides)
    chance = random.Random(str(overrides))
    players = chance.randint(2, min(4, rules["players_max"]))
    table: ReferenceTable | None = None
    for number in sequence(rules):
        deck = pack(rules)
        chance.shuffle(deck)
        table = ReferenceTable.deal(rules, players, number, number % players, deck)
        for _ in range(250):
            if table.phase == "over":
                break
            legal = table.legal()
            assert legal
            again = ReferenceTable.from_position(json.loads(json.dumps(table.position())))
            assert again.position() == table.position()
            assert again.legal() == legal
            there = [*table.stock, *table.discards]
            for cards in [*table.hands, *(meld.cards for meld in table.melds)]:
                there += cards
            assert Counter(there) == Counter(pack(rules))
            table.play(choose(table, sorted(legal), chance))
        assert table.phase != "over" or (table.points is not None and table.end is not None)


def choose(table: ReferenceTable, legal: list[str], chance: random.Random) -> str:
    """A move: mostly melds where there are any, and discards that break no pair."""
    melding = [move for move in legal if move.startswith(("lay", "off"))]
    if melding and chance.random() < 0.8:
        return chance.choice(melding)
    ranks = Counter(card[0] for card in table.hands[table.to_act])
    lonely = [move for move in legal if move.startswith("discard") and ranks[move[8]] == 1 and move[8] != "*"]
    return chance.choice(lonely or legal)


LAY_VARIANTS: list[dict[str, Any]] = [
    {},
    {"max_wilds": 1, "distinct_groups": True},
    {"separate_runs": True, "min_naturals": 2},
    {"min_naturals": 0},
]


@pytest.mark.parametrize("overrides", LAY_VARIANTS, ids=range(len(LAY_VARIANTS)))
def test_lays_against_all_partitions(overrides: dict[str, Any]) -> None:
    """The lays of small hands against a search without shortcuts: every set of melds that fits the hand."""
    small = {"ranks": list("23456789"), "suits": ["c", "d"], "run_length": 3, "deal": [5] * 7}
    rules = resolve("international", {**overrides, **small})
    chance = random.Random(5)
    possible = 0
    for contract in ([2, 0], [1, 1], [0, 2], [3, 0], [2, 1], [1, 2]):
        for _ in range(6):
            hand = chance.sample(pack(rules), 3 * sum(contract) + chance.randint(0, 1))
            lays = LayDown(rules, hand, contract[0], contract[1], []).moves()
            assert {meld.text for meld in lays} == lays_by_partition(rules, hand, *contract)
            possible += bool(lays)
    assert possible


def lays_by_partition(rules: dict[str, Any], hand: list[str], groups: int, runs: int) -> set[str]:
    """The melds of all complete contracts: sets of cards are split off the hand until it is laid."""
    found: set[str] = set()

    def split(cards: list[str], laid: list[Any]) -> None:
        kinds = Counter(meld.kind for meld in laid)
        if kinds["G"] == groups and kinds["R"] == runs:
            found.update(meld.text for meld in laid)
            return
        for triple in sorted(set(combinations(sorted(cards), 3))):
            rest = list(cards)
            for card in triple:
                rest.remove(card)
            melds = [] if kinds["G"] == groups else list(groups_from(rules, triple))
            melds += [] if kinds["R"] == runs or kinds["G"] < groups else list(runs_from(rules, triple))
            for meld in melds:
                if all(agree(rules, meld, other) for other in laid):
                    split(rest, [*laid, meld])

    split(hand, [])
    return found


def test_full_hand_is_quick() -> None:
    """Twenty-five cards with eight wilds are answered, in the round with the most ways to lay."""
    deck = pack(resolve("international"))
    deck = [card for card in deck if card != "**"]
    naturals = random.Random(3).sample(deck, 17)
    for number in range(1, len(INTERNATIONAL["contracts"]) + 1):
        table = ReferenceTable.from_position(
            {"rules": "international", "round": number, "to_act": 0,
             "hands": [" ".join(naturals + ["**"] * 8), next(card for card in deck if card not in naturals)]}
        )  # fmt: skip
        assert any(move.startswith("lay") for move in table.legal())
