"""The rule sets: values of the presets, overrides, files, and what is refused with which words.

Expected values are copied by hand from the rules pages, never computed from the module.
"""

import copy
import dataclasses
import json
import pickle
from pathlib import Path

import pytest

from rummy_env.rules import (
    DEALS,
    FIELDS,
    PRESETS,
    Rules,
    apply_overrides,
    load_rules,
    preset,
    resolve_rules,
    save_rules,
)

CONFIGS = Path(__file__).parent.parent / "configs"

FACE = {"2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "T": 10, "J": 10, "Q": 10, "K": 10}

# fields.md, the column International
INTERNATIONAL = {
    "name": "international",
    "players_min": 2, "players_max": 6, "decks": 2, "jokers": 0, "wild_rank": 2, "ranks": None, "suits": None,
    "ace": "high", "group_size": 3, "run_length": 4, "group_max": None,
    "contracts": [[2, 0], [1, 1], [0, 2], [3, 0], [2, 1], [1, 2], [0, 3]], "rounds": None,
    "deal": [10, 10, 10, 10, 12, 12, 12], "points": {**FACE, "A": 15, "wild": 15},
    "max_buys": None, "buy_when_down": True, "turn_player_may_buy": False, "uncovered_live": True,
    "buy_first_upcard": True, "buy_extra": 1,
    "min_naturals": 1, "max_wilds": None, "distinct_groups": False, "separate_runs": False,
    "same_turn_layoff": False, "layoff_own_only": False, "melds_per_turn": None,
    "layoff_needs_own_meld": False,
    "redraw_ban": True, "final_discard": False, "going_rummy": "none", "stock_out": "shuffle",
    "max_recycles": None, "max_turns": 50, "scoring": "losers_penalty", "blocked_scoring": "all_penalty",
    "game_end": None, "max_deals": None,
}  # fmt: skip

# fields.md, the column Basic: what differs
BASIC = INTERNATIONAL | {
    "name": "basic", "decks": 1, "wild_rank": None, "ace": "low", "run_length": 3, "contracts": None,
    "deal": {"2": 10, "3": 7, "4": 7, "5": 6, "6": 6}, "points": {**FACE, "A": None, "wild": 15},
    "max_buys": 0, "melds_per_turn": 1, "stock_out": "turn_over", "scoring": "winner_takes_sum",
    "blocked_scoring": "none", "game_end": {"target": 100}, "max_deals": 100,
}  # fmt: skip

# basic.md, Presets
BASIC_MODERN = BASIC | {
    "name": "basic_modern", "melds_per_turn": None, "ace": "high_or_low", "going_rummy": "double",
    "stock_out": "shuffle", "max_recycles": 2,
}  # fmt: skip
BLOCK = BASIC | {
    "name": "block", "stock_out": "end", "blocked_scoring": "all_penalty", "scoring": "losers_penalty",
}  # fmt: skip

EXPECTED = {rules["name"]: rules for rules in (INTERNATIONAL, BASIC, BASIC_MODERN, BLOCK)}

# One change of every field that International allows, each seen in its description
CHANGES = {
    "name": "mine", "players_min": 3, "players_max": 5, "decks": 1, "jokers": 2, "wild_rank": None,
    "ranks": ["2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "A"], "suits": ["c", "d", "h"],
    "ace": "corner", "group_size": 4, "run_length": 3, "group_max": 5, "contracts": [[1, 0]] * 7,
    "rounds": [3, 1, 3], "deal": "exact", "points": {"wild": 20}, "max_buys": 3, "buy_when_down": False,
    "turn_player_may_buy": True, "uncovered_live": False, "buy_first_upcard": False, "buy_extra": 2,
    "min_naturals": 2, "max_wilds": 1, "distinct_groups": True, "separate_runs": True,
    "same_turn_layoff": True,
    "layoff_own_only": True, "melds_per_turn": 1, "layoff_needs_own_meld": True, "redraw_ban": False,
    "final_discard": True, "going_rummy": "plus_10", "stock_out": "turn_over", "max_recycles": 2,
    "max_turns": 20, "scoring": "winner_takes_sum", "blocked_scoring": "none",
}  # fmt: skip


def changed(name: str) -> Rules:
    extra = {"players_max": 3} if name == "decks" else {}
    return resolve_rules("international", {name: CHANGES[name], **extra})


class TestPresets:
    def test_names(self):
        assert list(PRESETS) == ["international", "basic", "basic_modern", "block"]

    @pytest.mark.parametrize("name", EXPECTED)
    def test_every_field_has_the_value_of_the_page(self, name):
        assert preset(name).to_dict() == EXPECTED[name]
        assert tuple(EXPECTED[name]) == FIELDS

    def test_the_defaults_are_international(self):
        assert Rules() == preset("international")

    def test_unknown_preset(self):
        with pytest.raises(ValueError, match="international, basic, basic_modern, block, not 'gin'"):
            preset("gin")

    @pytest.mark.parametrize(
        ("round_number", "groups", "runs", "takes", "dealt"),
        [
            (1, 2, 0, 6, 10),
            (2, 1, 1, 7, 10),
            (3, 0, 2, 8, 10),
            (4, 3, 0, 9, 10),
            (5, 2, 1, 10, 12),
            (6, 1, 2, 11, 12),
            (7, 0, 3, 12, 12),
        ],
    )
    def test_the_seven_rounds(self, round_number, groups, runs, takes, dealt):
        rules = preset("international")
        assert rules.contracts[round_number - 1] == (groups, runs)
        assert groups * rules.group_size + runs * rules.run_length == takes
        for players in range(2, 7):
            assert rules.cards_dealt(round_number, players) == dealt

    @pytest.mark.parametrize(("players", "dealt"), [(2, 10), (3, 7), (4, 7), (5, 6), (6, 6)])
    def test_basic_deals_by_players(self, players, dealt):
        assert preset("basic").cards_dealt(1, players) == dealt
        assert preset("basic").deal[players] == dealt

    @pytest.mark.parametrize(
        ("name", "deal"),
        [
            ("books", (10, 10, 10, 10, 12, 12, 12)),
            ("pagat", (10, 10, 10, 12, 12, 12, 12)),
            ("plus_one", (7, 8, 9, 10, 11, 12, 13)),
            ("exact", (6, 7, 8, 9, 10, 11, 12)),
            ("flat_eleven", (11, 11, 11, 11, 11, 11, 11)),
        ],
    )
    def test_deal_presets_are_stored_as_numbers(self, name, deal):
        assert Rules(deal=name).deal == resolve_rules("international", {"deal": name}).deal == deal
        assert set(DEALS) == {"books", "pagat", "plus_one", "exact", "flat_eleven"}

    def test_home_points_count_a_wild_20_and_change_nothing_else(self):
        assert Rules(points="home").to_dict()["points"] == {**FACE, "A": 15, "wild": 20}
        assert resolve_rules("basic", {"points": "home"}).to_dict()["points"] == {
            **FACE,
            "A": None,
            "wild": 20,
        }


class TestDerived:
    @pytest.mark.parametrize(
        ("name", "overrides", "order"),
        [
            ("international", {}, "3456789TJQKA"),
            ("international", {"wild_rank": None}, "23456789TJQKA"),
            ("international", {"ace": "low"}, "A23456789TJQK"),
            ("basic", {}, "A23456789TJQK"),
            ("basic", {"ace": "high"}, "23456789TJQKA"),
            ("basic", {"wild_rank": 2}, "A23456789TJQK"),
            ("basic", {"ace": "high_or_low"}, "A23456789TJQKA"),
            ("basic", {"ace": "high_or_low", "wild_rank": 2}, "A23456789TJQKA"),
            ("basic", {"ace": "corner"}, "A23456789TJQK"),
            ("basic", {"ranks": ["A", 7, 8, "9"], "players_max": 2, "deal": {2: 5}}, "A789"),
            ("basic", {"ranks": [7, 8, 9], "ace": "high_or_low", "players_max": 2, "deal": {2: 4}}, "789"),
        ],
    )
    def test_places_of_a_run(self, name, overrides, order):
        assert resolve_rules(name, overrides).rank_order == tuple(order)

    def test_sequence(self):
        assert preset("international").sequence == (1, 2, 3, 4, 5, 6, 7)
        assert Rules(rounds=[3, 1, 3]).sequence == (3, 1, 3)
        assert preset("basic").sequence == ()

    def test_international_has_104_cards_of_which_eight_are_wild(self):
        pack = preset("international").pack()
        assert len(pack) == 104 and pack[-8:] == ["**"] * 8
        assert pack.count("7s") == 2 and "2c" not in pack

    def test_basic_has_52_different_cards(self):
        pack = preset("basic").pack()
        assert pack[:3] == ["Ac", "2c", "3c"] and pack[-1] == "Ks" and len(set(pack)) == len(pack) == 52

    def test_jokers_are_wild_beside_the_twos(self):
        assert Rules(jokers=4).pack().count("**") == 12
        assert resolve_rules("basic", {"jokers": 3, "decks": 2}).pack().count("**") == 3

    def test_a_smaller_pack(self):
        rules = resolve_rules(
            "basic", {"ranks": ["K", 2, "A", "Q"], "suits": ["s", "c"], "group_size": 2, "players_max": 2,
                      "deal": {"2": 3}}
        )  # fmt: skip
        assert rules.ranks == ("A", "2", "Q", "K") and rules.suits == ("c", "s")
        assert rules.pack() == ["Ac", "2c", "Qc", "Kc", "As", "2s", "Qs", "Ks"]

    @pytest.mark.parametrize(
        ("overrides", "ace"),
        [
            ({}, 1),
            ({"ace": "high_or_low"}, 15),
            ({"ace": "corner"}, 15),
            ({"ace": "high"}, 15),
            ({"points": {"A": 11}}, 11),
            ({"ace": "corner", "points": {"A": 1}}, 1),
        ],
    )
    def test_an_ace_without_a_number_counts_1_where_low_else_15(self, overrides, ace):
        assert resolve_rules("basic", overrides).card_points == {**FACE, "A": ace, "wild": 15}

    @pytest.mark.parametrize(
        ("overrides", "limit"),
        [({}, 4), ({"decks": 2}, None), ({"decks": 2, "group_max": 4}, 4), ({"group_max": 3}, 3)],
    )
    def test_largest_group(self, overrides, limit):
        assert resolve_rules("basic", overrides).group_limit == limit

    def test_cards_dealt_refuses_what_the_rules_do_not_have(self):
        with pytest.raises(ValueError, match=r"players must be 2\.\.6, not 7"):
            preset("basic").cards_dealt(1, 7)
        with pytest.raises(ValueError, match=r"round must be 1\.\.7, not 8"):
            preset("international").cards_dealt(8, 4)


class TestOverrides:
    def test_points_change_the_entries_they_name(self):
        rules = resolve_rules("international", {"points": {"wild": 20, 7: 0}})
        assert rules.to_dict()["points"] == {**FACE, "7": 0, "A": 15, "wild": 20}
        assert rules.replace(points={"A": 11}).points["wild"] == 20

    def test_other_maps_and_lists_replace(self):
        basic = preset("basic")
        assert basic.replace(game_end={"deals": 3}).to_dict()["game_end"] == {"deals": 3}
        assert dict(basic.replace(deal={"2": 9, 3: 8}, players_max=3).deal) == {2: 9, 3: 8}
        assert Rules(contracts=[[2, 1]], deal=[11]).contracts == ((2, 1),)

    def test_the_original_is_left_alone(self):
        rules = preset("international")
        rules.replace(max_buys=3)
        assert rules == Rules() and rules.replace(max_buys=3).max_buys == 3

    def test_every_field_can_be_changed(self):
        assert set(CHANGES) | {"game_end", "max_deals"} == set(FIELDS)
        for name in CHANGES:
            assert changed(name).to_dict()[name] != INTERNATIONAL[name]

    def test_from_dict_takes_the_rest_from_the_preset(self):
        assert Rules.from_dict({"preset": "basic", "name": "ours", "jokers": 2}) == preset("basic").replace(
            name="ours", jokers=2
        )
        assert Rules.from_dict({"name": "basic", "jokers": 2}) == preset("basic").replace(jokers=2)
        assert Rules.from_dict({"name": "ours"}) == Rules(name="ours")
        with pytest.raises(ValueError, match=r"preset must be one of .* not 'whist'"):
            Rules.from_dict({"preset": "whist"})

    @pytest.mark.parametrize("name", [*EXPECTED, *CHANGES])
    def test_dict_round_trip_through_json(self, name):
        rules = preset(name) if name in PRESETS else changed(name)
        assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules

    def test_resolve_rules(self, tmp_path):
        rules = Rules(max_buys=2)
        save_rules(rules, tmp_path / "a.yml")
        for given in (rules, tmp_path / "a.yml", str(tmp_path / "a.yml"), {"max_buys": 2}):
            assert resolve_rules(given) == rules
        assert resolve_rules("basic") is preset("basic")
        with pytest.raises(ValueError, match=r"one of .* or a path ending in \.yaml, not 'canasta'"):
            resolve_rules("canasta")
        for nothing in (None, 3, ["basic"]):
            with pytest.raises(ValueError, match="rules must be a map"):
                resolve_rules(nothing)


class TestValues:
    @pytest.mark.parametrize("name", [*EXPECTED, *CHANGES])
    def test_hash_pickle_copy(self, name):
        rules = preset(name) if name in PRESETS else changed(name)
        for twin in (pickle.loads(pickle.dumps(rules)), copy.deepcopy(rules), copy.copy(rules)):
            assert twin == rules and hash(twin) == hash(rules)
        assert dataclasses.replace(rules) == rules

    def test_all_changes_differ(self):
        different = {*PRESETS.values(), *map(changed, CHANGES)}
        assert len(different) == 4 + len(CHANGES)

    def test_nothing_can_be_changed(self):
        given = {"deals": 3}
        rules = preset("basic").replace(game_end=given)
        given["deals"] = 4
        assert rules.game_end["deals"] == 3
        with pytest.raises(dataclasses.FrozenInstanceError):
            rules.jokers = 1
        for of_rules in (rules.points, rules.deal, rules.game_end, PRESETS):
            with pytest.raises(TypeError):
                of_rules["A"] = 1

    def test_order_of_maps_and_lists_of_cards_does_not_matter(self):
        small = {"players_max": 2, "deal": {2: 5}}
        one = resolve_rules("basic", {"ranks": ["7", "8", "9"], **small})
        assert one == resolve_rules("basic", {"ranks": ["9", "7", "8"], **small})
        assert preset("basic") == preset("basic").replace(deal={6: 6, 5: 6, 4: 7, 3: 7, 2: 10})


class TestYaml:
    @pytest.mark.parametrize("name", PRESETS)
    def test_every_preset_has_a_file(self, name):
        assert load_rules(CONFIGS / f"{name}.yaml") == preset(name)

    @pytest.mark.parametrize("name", ["international", "basic"])
    def test_the_file_of_a_game_names_every_field(self, name):
        lines = (CONFIGS / f"{name}.yaml").read_text().splitlines()
        assert [line.split(":")[0] for line in lines if line[:1].isalpha()] == list(FIELDS)

    @pytest.mark.parametrize("name", [*EXPECTED, *CHANGES])
    def test_round_trip(self, name, tmp_path):
        rules = preset(name) if name in PRESETS else changed(name)
        save_rules(rules, tmp_path / "rules.yaml")
        assert load_rules(tmp_path / "rules.yaml") == rules
        assert [file.name for file in tmp_path.iterdir()] == ["rules.yaml"]

    def test_a_house_rule_is_the_fields_that_differ(self, tmp_path):
        path = tmp_path / "house.yaml"
        deal = "deal: {2: 9, 3: 7, 4: 7, 5: 6, 6: 6}\n"
        path.write_text(f"preset: basic\nname: ours\n{deal}points: {{wild: 20, 2: 20}}\n")
        assert load_rules(path) == preset("basic").replace(
            name="ours", deal={2: 9, 3: 7, 4: 7, 5: 6, 6: 6}, points={"wild": 20, "2": 20}
        )

    def test_a_failed_save_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        path = tmp_path / "rules.yaml"
        save_rules(Rules(), path)
        monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
        with pytest.raises(OSError, match="disk"):
            save_rules(preset("basic"), path)
        assert load_rules(path) == Rules() and len(list(tmp_path.iterdir())) == 1

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (b"name: x\ndecks: [1, 2\n", "line 3: expected"),
            (b"name: x\n\tdecks: 1\n", "line 2:"),
            (b"decks: 1\nname: x\ndecks: 2\n", "line 3: the key 'decks' stands twice"),
            (b"points:\n  A: 1\n  A: 2\n", "line 3: the key 'A' stands twice"),
            (b"points: {2: 1, '2': 2}\n", "line 1: the key '2' stands twice"),
            (b"name: x\n? [1]\n: 2\n", "line 2: found unhashable key"),
            (b"name: x\ndecks: !!python/name:os.system\n", "line 2:"),
            (b"name: x\ndecks: !!int two\n", "line 2: 'two' cannot be read as"),
            (b"name: x\nmax_turns: 2024-99-99\n", "line 2: '2024-99-99' cannot be read as"),
            (b"name: x\ndecks: *one\n", "line 2: found undefined alias"),
            (b"name: x\n---\nname: y\n", "line 2: but found another document"),
            (b"name: x\nscoring: \xff\n", "line 2: not UTF-8 text"),
            (b"name: x\nscoring: \x00\n", "line 2: special characters are not allowed"),
            (b"[" * 5000, "line 1: nested too deep"),
            (b"", "rules must be a map from fields to values, not null"),
            (b"basic\n", "rules must be a map from fields to values, not 'basic'"),
            (b"- decks\n", "rules must be a map from fields to values, not ['decks']"),
            (b"a: &a [*a]\n", "unknown rule field 'a'"),
            (b"decks: &a [*a]\n", "decks must be a whole number 1..2, not [[["),
            (b"decks: 7\n", "decks must be a whole number 1..2, not 7"),
        ],
    )  # fmt: skip
    def test_a_damaged_file_is_named_with_its_line(self, tmp_path, text, words):
        path = tmp_path / "bad.yaml"
        path.write_bytes(text)
        with pytest.raises(ValueError) as caught:
            load_rules(path)
        assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            resolve_rules(str(tmp_path / "none.yaml"))


SMALL = {"players_max": 2, "deal": {2: 2}}
REFUSED = [
    # values: what was given and what is allowed
    ("international", {"name": ""}, "name must be a text that is not empty, not ''"),
    ("international", {"name": None}, "name must be a text that is not empty, not null"),
    ("international", {"players_min": 1}, "players_min must be a whole number 2..6, not 1"),
    ("international", {"players_max": 7}, "players_max must be a whole number 2..6, not 7"),
    ("international", {"players_max": None}, "players_max must be a whole number 2..6, not null"),
    ("international", {"decks": 3}, "decks must be a whole number 1..2, not 3"),
    ("international", {"decks": True}, "decks must be a whole number 1..2, not true"),
    ("international", {"jokers": 9}, "jokers must be a whole number 0..8, not 9"),
    ("international", {"jokers": 1.0}, "jokers must be a whole number 0..8, not 1.0"),
    ("international", {"wild_rank": 3}, "wild_rank must be null or the number 2, not 3"),
    ("international", {"wild_rank": "2"}, "wild_rank must be null or the number 2, not '2'"),
    (
        "international",
        {"ranks": ["10"]},
        "ranks must be null or a list of letters of A23456789TJQK, not '10'",
    ),
    ("international", {"ranks": ["A", "A"]}, "ranks names A twice"),
    ("international", {"ranks": "A23"}, "ranks must be a list of letters of A23456789TJQK"),
    ("international", {"ranks": []}, "ranks must be a list of letters of A23456789TJQK"),
    ("international", {"suits": ["x"]}, "suits must be null or a list of letters of cdhs, not 'x'"),
    ("international", {"ace": "top"}, "ace must be one of high, low, high_or_low, corner, not 'top'"),
    ("international", {"ace": ["low"]}, "ace must be one of high, low, high_or_low, corner, not ['low']"),
    ("international", {"group_size": 1}, "group_size must be a whole number 2..4, not 1"),
    ("international", {"run_length": 5}, "run_length must be a whole number 2..4, not 5"),
    ("international", {"contracts": []}, "contracts must be a list of pairs [groups, runs]"),
    ("international", {"contracts": [2, 1]}, "every entry of contracts must be a pair [groups, runs], not 2"),
    ("international", {"contracts": [[1, 1, 1]]}, "must be a pair [groups, runs], not [1, 1, 1]"),
    (
        "international",
        {"contracts": [[0, 0]]},
        "every entry of contracts must be 1 to 6 melds together, not [0, 0]",
    ),
    (
        "international",
        {"contracts": [[4, 3]]},
        "every entry of contracts must be 1 to 6 melds together, not [4, 3]",
    ),
    (
        "international",
        {"contracts": [[-1, 3]]},
        "every entry of contracts must be a whole number 0..6, not -1",
    ),
    ("international", {"rounds": []}, "rounds must be a list of whole numbers"),
    ("international", {"rounds": [0]}, "every entry of rounds must be a whole number >= 1, not 0"),
    ("international", {"rounds": 3}, "rounds must be a list of whole numbers (1 to 100), not 3"),
    ("international", {"deal": "hoyle"}, "one of books, pagat, plus_one, exact, flat_eleven, not 'hoyle'"),
    ("international", {"deal": [10] * 6 + [0]}, "every entry of deal must be a whole number >= 1, not 0"),
    ("basic", {"deal": {7: 5}}, "deal has the unknown key 7; allowed are 2 3 4 5 6"),
    ("basic", {"deal": {2: 5, "2": 5}}, "deal names 2 twice"),
    ("international", {"points": {"10": 10}}, "points has the unknown key '10'; allowed are A 2 3"),
    ("international", {"points": {"K": 1001}}, "points K must be a whole number -1000..1000, not 1001"),
    (
        "international",
        {"points": {"K": float("nan")}},
        "points K must be a whole number -1000..1000, not nan",
    ),
    (
        "international",
        {"points": {"K": float("inf")}},
        "points K must be a whole number -1000..1000, not inf",
    ),
    ("international", {"points": {"K": 2.5}}, "points K must be a whole number -1000..1000, not 2.5"),
    ("international", {"points": {"K": None}}, "points K must be a whole number -1000..1000, not null"),
    ("international", {"points": {"A": "x"}}, "points A must be null or a whole number -1000..1000, not 'x'"),
    ("international", {"points": {7: 1, "7": 2}}, "points names 7 twice"),
    ("international", {"points": "casino"}, "points must be a map or one of home, not 'casino'"),
    ("international", {"points": [1, 2]}, "points must be a map from rank to number"),
    ("international", {"max_buys": -1}, "max_buys must be null or a whole number >= 0, not -1"),
    ("international", {"max_buys": False}, "max_buys must be null or a whole number >= 0, not false"),
    (
        "international",
        {"max_buys": 10**9},
        "max_buys must be null or a whole number 0..1000000, not 1000000000",
    ),
    ("international", {"buy_when_down": 1}, "buy_when_down must be true or false, not 1"),
    ("international", {"redraw_ban": None}, "redraw_ban must be true or false, not null"),
    ("international", {"buy_extra": 3}, "buy_extra must be a whole number 0..2, not 3"),
    ("international", {"min_naturals": -1}, "min_naturals must be a whole number >= 0, not -1"),
    ("international", {"max_wilds": -1}, "max_wilds must be null or a whole number >= 0, not -1"),
    ("basic", {"melds_per_turn": 0}, "melds_per_turn must be null or a whole number >= 1, not 0"),
    ("international", {"going_rummy": None}, "going_rummy must be one of none, double, plus_10, not null"),
    ("international", {"stock_out": "stop"}, "stock_out must be one of turn_over, shuffle, end, not 'stop'"),
    ("international", {"scoring": ""}, "scoring must be one of winner_takes_sum, losers_penalty, not ''"),
    (
        "basic",
        {"blocked_scoring": 0},
        "blocked_scoring must be one of none, all_penalty, lowest_takes_sum, not 0",
    ),
    ("international", {"max_recycles": -1}, "max_recycles must be null or a whole number >= 0, not -1"),
    ("international", {"max_turns": 0}, "max_turns must be a whole number 1..10000, not 0"),
    ("international", {"max_turns": 10_001}, "max_turns must be a whole number 1..10000, not 10001"),
    ("basic", {"max_deals": 0}, "max_deals must be null or a whole number 1..30000, not 0"),
    ("basic", {"game_end": {"target": 0}}, "game_end target must be a whole number >= 1, not 0"),
    (
        "basic",
        {"game_end": {"target": 50, "deals": 3}},
        'game_end must be null, {"target": n} or {"deals": n}',
    ),
    ("basic", {"game_end": {"hours": 3}}, 'game_end must be null, {"target": n} or {"deals": n}'),
    ("basic", {"game_end": 100}, 'game_end must be null, {"target": n} or {"deals": n}, not 100'),
    ("basic", {"max_byes": 1}, "unknown rule field 'max_byes'; did you mean max_buys?"),
    ("basic", {"preset": "block"}, "unknown rule field 'preset'"),
    ("basic", {3: 1}, "unknown rule field 3"),
    ("basic", [], "overrides must be a map from fields to values, not []"),
    # combinations: both fields
    ("international", {"players_min": 5, "players_max": 4}, "players_min 5 is above players_max 4"),
    ("international", {"contracts": [[1, 1]]}, "deal has 7 rounds but contracts has 1"),
    ("international", {"deal": [10] * 8}, "deal has 8 rounds but contracts has 7"),
    ("international", {"rounds": [1, 8]}, "rounds names 8, contracts has only 7"),
    ("basic", {"rounds": [1]}, "rounds must be null where contracts is null"),
    ("international", {"group_max": 2}, "group_max 2 is below group_size 3"),
    ("international", {"group_max": 3, "group_size": 4}, "group_max 3 is below group_size 4"),
    ("basic", {"max_recycles": 2, "stock_out": "end"}, "max_recycles 2 cannot stand with stock_out end"),
    (
        "international",
        {"max_recycles": 0, "stock_out": "end"},
        "max_recycles 0 cannot stand with stock_out end",
    ),
    ("international", {"game_end": {"target": 100}}, "game_end must be null where contracts are given"),
    ("international", {"max_deals": 7}, "max_deals must be null where contracts are given"),
    ("basic", {"game_end": None}, "where contracts is null"),
    ("basic", {"contracts": [[1, 1]], "deal": [7]}, "game_end must be null where contracts are given"),
    ("international", {"contracts": None}, "game_end must be"),
    ("basic", {"deal": [7]}, "deal must be a map from players to cards where contracts is null"),
    ("basic", {"deal": "books"}, "deal must be a map from players to cards where contracts is null"),
    ("international", {"deal": {2: 10}}, "deal says nothing for 3 players (players_min 2, players_max 6)"),
    ("basic", {"deal": {2: 10}}, "deal says nothing for 3 players (players_min 2, players_max 6)"),
    (
        "basic",
        {"deal": {2: 26}, "players_max": 2},
        "deal of 26 cards to 2 players (players_max 2) needs 54 cards",
    ),
    (
        "international",
        {"deal": [10] * 6 + [18]},
        "deal of 18 cards to 6 players (players_max 6) needs 110 cards",
    ),
    ("international", {"decks": 1}, "the pack has 52 (decks 1"),
    (
        "international",
        {"min_naturals": 4},
        "min_naturals 4 is above the meld size (group_size 3, run_length 4)",
    ),
    ("basic", {"min_naturals": 3, "group_size": 2}, "min_naturals 3 is above the meld size (group_size 2"),
    ("international", {"ranks": [2, 3, 4, "A"]}, "run_length 4 is longer than the 3 places of the ranks"),
    ("basic", {"ranks": [7, 8], **SMALL}, "run_length 3 is longer than the 2 places of the ranks"),
    (
        "international",
        {
            "decks": 1,
            "suits": ["c", "d"],
            "max_wilds": 0,
            "contracts": [[1, 0]],
            "deal": [3],
            "players_max": 2,
        },
        "no group of group_size 3 can be laid with decks 1, ranks A 2 3 4 5 6 7 8 9 T J Q K, suits c d",
    ),
    (
        "basic",
        {"ranks": ["A", 2, 3], "suits": ["c", "d"], "wild_rank": 2, "max_wilds": 0, **SMALL},
        "no group of group_size 3 can be laid",
    ),
    (
        "international",
        {
            "ace": "low",
            "ranks": ["A", 2, 3, 4],
            "max_wilds": 0,
            "contracts": [[0, 1]],
            "deal": [4],
            "players_max": 2,
        },
        "no run of run_length 4 can be laid",
    ),
]


@pytest.mark.parametrize(("name", "overrides", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_refused(name, overrides, words):
    with pytest.raises(ValueError) as caught:
        resolve_rules(name, overrides)
    assert words in str(caught.value)


ALLOWED = [
    ("international", {"deal": [17] * 7}),  # 6 x 17 + 2 = 104, the whole pack
    ("basic", {"deal": {2: 25}, "players_max": 2}),  # 52
    ("international", {"min_naturals": 3}),  # a group of naturals only
    ("basic", {"max_recycles": 0}),
    ("basic", {"group_max": 3}),
    ("basic", {"max_deals": None}),
    ("basic", {"max_buys": 2}),  # Basic can switch buying on
    ("basic", {"contracts": [[1, 1]], "deal": [7], "game_end": None, "max_deals": None}),
    ("international", {"contracts": None, "deal": {n: 7 for n in range(2, 7)}, "game_end": {"deals": 3}}),
    ("basic", {"suits": ["c", "d"], **SMALL}),  # no groups, but runs
    ("basic", {"suits": ["c", "d"], "jokers": 1, **SMALL}),  # a group of two naturals and the joker
    ("basic", {"ranks": ["A", 2, 3], "wild_rank": 2, "ace": "corner", **SMALL}),  # A ** 3
]


@pytest.mark.parametrize(("name", "overrides"), ALLOWED)
def test_allowed(name, overrides):
    assert resolve_rules(name, overrides)


def test_points_of_a_new_rule_set_are_complete():
    with pytest.raises(ValueError, match="every rank and wild; missing: 3 4 5 6 7 8 9 T J Q K wild"):
        Rules(points={"A": 1})
    assert Rules(points={rank: 0 for rank in [*"3456789TJQKA", "wild"]}).points["2"] == 2


def test_a_refused_override_names_the_first_fault_and_changes_nothing():
    rules = preset("basic")
    with pytest.raises(ValueError, match="jokers"):
        apply_overrides(rules, {"jokers": 99})
    assert rules == preset("basic")


class TestDescribe:
    @pytest.mark.parametrize("name", EXPECTED)
    def test_a_preset_differs_from_nothing(self, name):
        text = preset(name).describe()
        assert text.startswith(f"{name}: rummy for 2 to 6 players\n") and "Other than" not in text

    def test_words_of_international(self):
        text = preset("international").describe()
        for words in (
            "104, from 2 packs and no jokers; every 2 is wild",
            "3 4 5 6 7 8 9 T J Q K A.",
            "Round 2: 1 group and 1 run (7 cards), 10 cards dealt",
            "Round 7: 3 runs (12 cards), 12 cards dealt",
            "fewest points win",
        ):
            assert words in text

    def test_words_of_basic(self):
        text = preset("basic").describe()
        for words in (
            "52, from 1 pack",
            "10 with 2 players",
            "No buying",
            "A 1, 2 2",
            "most points win",
            "a score reaches 100",
            "100 deals",
        ):
            assert words in text

    @pytest.mark.parametrize("name", [name for name in CHANGES if name != "name"])
    def test_a_changed_rule_is_told_in_words_and_named(self, name):
        said, named = changed(name).describe().split("Other than", 1)
        assert f" in international: {name} " in named
        ignored = ("melds_per_turn", "layoff_needs_own_meld")  # without effect under contracts
        assert name in ignored or said.rstrip() != preset("international").describe().rstrip()

    def test_a_house_rule_set_is_compared_with_the_game_it_is_of(self):
        text = preset("basic").replace(name="ours", melds_per_turn=None, points={"wild": 25}).describe()
        assert "Other than in basic: melds_per_turn null, not 1" in text
        assert 'Other than in basic: points {"wild": 25}, not {"wild": 15}' in text
