"""Rule sets as plain data: the values of both games, the presets, and what is refused.

A rule set is a dict with every field of the fields page. `resolve` makes one from a preset and overrides;
`check_rules` refuses what the fields page refuses (each message names the field).
"""

from __future__ import annotations

import copy
from typing import Any

from .cards import ALL_RANKS, ALL_SUITS, Rules, pack, places_of, ranks_of

DEAL_PRESETS: dict[str, list[int]] = {
    "books": [10, 10, 10, 10, 12, 12, 12],
    "pagat": [10, 10, 10, 12, 12, 12, 12],
    "plus_one": [7, 8, 9, 10, 11, 12, 13],
    "exact": [6, 7, 8, 9, 10, 11, 12],
    "flat_eleven": [11, 11, 11, 11, 11, 11, 11],
}

STANDARD_POINTS: dict[str, int] = {
    "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9,
    "T": 10, "J": 10, "Q": 10, "K": 10, "A": 15, "wild": 15,
}  # fmt: skip

POINTS_PRESETS: dict[str, dict[str, int]] = {"home": {"wild": 20}}

INTERNATIONAL: dict[str, Any] = {
    "name": "international",
    "players_min": 2,
    "players_max": 6,
    "decks": 2,
    "jokers": 0,
    "wild_rank": 2,
    "ranks": None,
    "suits": None,
    "ace": "high",
    "group_size": 3,
    "run_length": 4,
    "group_max": None,
    "contracts": [[2, 0], [1, 1], [0, 2], [3, 0], [2, 1], [1, 2], [0, 3]],
    "rounds": None,
    "deal": DEAL_PRESETS["books"],
    "points": STANDARD_POINTS,
    "max_buys": None,
    "buy_when_down": True,
    "turn_player_may_buy": False,
    "uncovered_live": True,
    "buy_first_upcard": True,
    "buy_extra": 1,
    "min_naturals": 1,
    "max_wilds": None,
    "distinct_groups": False,
    "separate_runs": False,
    "same_turn_layoff": False,
    "layoff_own_only": False,
    "melds_per_turn": None,
    "layoff_needs_own_meld": False,
    "redraw_ban": True,
    "final_discard": False,
    "going_rummy": "none",
    "stock_out": "shuffle",
    "max_recycles": None,
    "max_turns": 50,
    "scoring": "losers_penalty",
    "blocked_scoring": "all_penalty",
    "game_end": None,
    "max_deals": None,
}

BASIC: dict[str, Any] = {
    **INTERNATIONAL,
    "name": "basic",
    "decks": 1,
    "wild_rank": None,
    "ace": "low",
    "run_length": 3,
    "contracts": None,
    "deal": {"2": 10, "3": 7, "4": 7, "5": 6, "6": 6},
    "points": {**STANDARD_POINTS, "2": 2, "A": None},
    "max_buys": 0,
    "melds_per_turn": 1,
    "stock_out": "turn_over",
    "scoring": "winner_takes_sum",
    "blocked_scoring": "none",
    "game_end": {"target": 100},
    "max_deals": 100,
}

PRESETS: dict[str, dict[str, Any]] = {
    "international": INTERNATIONAL,
    "basic": BASIC,
    "basic_modern": {
        **BASIC,
        "name": "basic_modern",
        "melds_per_turn": None,
        "ace": "high_or_low",
        "going_rummy": "double",
        "stock_out": "shuffle",
        "max_recycles": 2,
    },
    "block": {
        **BASIC,
        "name": "block",
        "stock_out": "end",
        "blocked_scoring": "all_penalty",
        "scoring": "losers_penalty",
    },
}

SWITCHES = [field for field, value in INTERNATIONAL.items() if isinstance(value, bool)]

# Fields that have a few values.
CHOICES: dict[str, list[Any]] = {
    "ace": ["high", "low", "high_or_low", "corner"],
    "wild_rank": [2, None],
    "decks": [1, 2],
    "going_rummy": ["none", "double", "plus_10"],
    "stock_out": ["turn_over", "shuffle", "end"],
    "scoring": ["winner_takes_sum", "losers_penalty"],
    "blocked_scoring": ["none", "all_penalty", "lowest_takes_sum"],
}

# Whole numbers: the least value, the greatest (None: open), and whether null is allowed.
NUMBERS: dict[str, tuple[int, int | None, bool]] = {
    "players_min": (2, 6, False),
    "players_max": (2, 6, False),
    "jokers": (0, 8, False),
    "group_size": (2, None, False),
    "run_length": (2, None, False),
    "group_max": (2, None, True),
    "max_buys": (0, None, True),
    "buy_extra": (0, 2, False),
    "min_naturals": (0, None, False),
    "max_wilds": (0, None, True),
    "melds_per_turn": (1, None, True),
    "max_recycles": (0, None, True),
    "max_turns": (1, None, True),
    "max_deals": (1, None, True),
}


def resolve(rules_name: str, overrides: dict[str, Any] | None = None) -> Rules:
    """The full rule set of a preset with overrides: the map `points` changes the entries it names, all else
    replaces; `deal` and `points` also take the name of a preset."""
    rules = copy.deepcopy(_preset("rules", PRESETS, rules_name))
    for field, value in (overrides or {}).items():
        if field not in rules:
            raise ValueError(f"{field}: unknown field of the rules")
        if field == "deal" and isinstance(value, str):
            value = _preset(field, DEAL_PRESETS, value)
        if field == "points":
            if isinstance(value, str):
                value = _preset(field, POINTS_PRESETS, value)
            if not isinstance(value, dict):
                raise ValueError("points: a map from rank to number is needed")
            value = {**rules["points"], **value}
        rules[field] = copy.deepcopy(value)
    check_rules(rules)
    return rules


def preset_of(rules: Rules) -> str:
    """The preset that a rule set is written from in a position: the one of its name, else that of its game."""
    if rules["name"] in PRESETS:
        return str(rules["name"])
    return "basic" if free_melds(rules) else "international"


def overrides_of(rules: Rules) -> dict[str, Any]:
    """The fields in which a rule set differs from its preset: `resolve` makes the rule set of the two."""
    changed = {}
    for field, standard in PRESETS[preset_of(rules)].items():
        if rules[field] != standard:
            changed[field] = copy.deepcopy(rules[field])
    return changed


def free_melds(rules: Rules) -> bool:
    """Whether melds are free: there are no contracts."""
    return rules["contracts"] is None


def sequence(rules: Rules) -> list[int]:
    """The rounds of a game with contracts, in the order in which they are played."""
    if rules["rounds"] is not None:
        return list(rules["rounds"])
    return list(range(1, len(rules["contracts"]) + 1))


def is_played(rules: Rules, round_number: int) -> bool:
    """Whether a game can come to a round of this number. Where melds are free the deals are counted from 1."""
    if not free_melds(rules):
        return round_number in sequence(rules)
    return 1 <= round_number <= min(_last_deals(rules), default=round_number)


def place_of(rules: Rules, round_number: int) -> int:
    """Which of the rounds of a game, from 0, has this number: the first one, where a number repeats."""
    return round_number - 1 if free_melds(rules) else sequence(rules).index(round_number)


def next_round(rules: Rules, place: int, dealer: int, players: int, scores: list[Any]) -> tuple[int, int] | None:
    """Number and dealer of the round after the one at this place of the game (from 0); None where the game is over.

    `scores` are those after that round. The deal moves one seat to the left, which is the next seat clockwise.
    Where melds are free the game ends after so many deals, or when somebody has reached the target: what comes first.
    """
    following = (dealer + 1) % players
    if not free_melds(rules):
        rounds = sequence(rules)
        return (rounds[place + 1], following) if place + 1 < len(rounds) else None
    target = rules["game_end"].get("target")
    if target is not None and max(scores) >= target:
        return None
    number = place + 2
    return (number, following) if is_played(rules, number) else None


def _last_deals(rules: Rules) -> list[int]:
    """The numbers of the deals after which a game is over, of which the least counts."""
    limits = (rules["game_end"].get("deals"), rules["max_deals"])
    return [limit for limit in limits if limit is not None]


def contract_of(rules: Rules, round_number: int) -> tuple[int, int]:
    """Groups and runs of a round."""
    groups, runs = rules["contracts"][round_number - 1]
    return groups, runs


def cards_dealt(rules: Rules, round_number: int, players: int) -> int:
    """How many cards each player is dealt: from a list per round, or a map by players."""
    deal = rules["deal"]
    if isinstance(deal, dict):
        return int({int(key): value for key, value in deal.items()}[players])
    return int(deal[round_number - 1])


def group_limit(rules: Rules) -> int | None:
    """The most cards a group may hold: by default 4 with one pack, no limit with two."""
    if rules["group_max"] is None:
        return 4 if rules["decks"] == 1 else None
    return int(rules["group_max"])


def check_rules(rules: Rules) -> None:
    """Refuse a rule set that is incomplete, contradicts itself, or is outside this reference."""
    for field in rules:
        if field not in INTERNATIONAL:
            raise ValueError(f"{field}: unknown field of the rules")
    for field in INTERNATIONAL:
        if field not in rules:
            raise ValueError(f"{field}: missing in the rules")
    if not isinstance(rules["name"], str):
        raise ValueError("name: a text is needed")
    for field in SWITCHES:
        if not isinstance(rules[field], bool):
            raise ValueError(f"{field}: true or false is needed, not {rules[field]!r}")
    for field, choices in CHOICES.items():
        if isinstance(rules[field], bool) or rules[field] not in choices:
            raise ValueError(f"{field}: {rules[field]!r} is not a value of this reference ({choices})")
    for field, (least, most, null_allowed) in NUMBERS.items():
        if not (null_allowed and rules[field] is None):
            check_whole(rules[field], field, least, most)
    if rules["players_min"] > rules["players_max"]:
        raise ValueError("players_min: more than players_max")
    _check_pack(rules)
    _check_sizes(rules)
    _check_rounds(rules)
    _check_points(rules)
    if rules["max_recycles"] is not None and rules["stock_out"] == "end":
        raise ValueError("max_recycles: of no use with stock_out end")
    for players in range(rules["players_min"], rules["players_max"] + 1):
        check_players(rules, players)


def check_players(rules: Rules, players: int) -> None:
    """Refuse a number of players that the rules, or the pack in one of the rounds, do not allow."""
    if not rules["players_min"] <= players <= rules["players_max"]:
        raise ValueError(f"players: {players} is outside players_min to players_max")
    if isinstance(rules["deal"], dict) and players not in {int(key) for key in rules["deal"]}:
        raise ValueError(f"deal: names no number of cards for {players} players")
    for number in [1] if free_melds(rules) else sequence(rules):
        if players * cards_dealt(rules, number, players) + 2 > len(pack(rules)):
            raise ValueError(f"deal: the pack cannot serve {players} players in round {number}")


def check_whole(value: Any, field: str, least: int, most: int | None = None) -> int:
    """The value, if it is a whole number in these bounds (a truth value is none)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{field}: a whole number is needed, not {value!r}")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{field}: {value} is out of range")
    return value


def _preset(field: str, presets: dict[str, Any], name: str) -> Any:
    if name not in presets:
        raise ValueError(f"{field}: no preset is called {name!r}")
    return presets[name]


def _check_pack(rules: Rules) -> None:
    for field, known in (("ranks", ALL_RANKS), ("suits", ALL_SUITS)):
        listed = rules[field]
        if listed is None:
            continue
        if not isinstance(listed, list) or not listed:
            raise ValueError(f"{field}: a list is needed")
        for entry in listed:
            if not isinstance(entry, str) or len(entry) != 1 or entry not in known:
                raise ValueError(f"{field}: {entry!r} is unknown")
            if listed.count(entry) > 1:
                raise ValueError(f"{field}: {entry} stands there twice")


def _check_sizes(rules: Rules) -> None:
    limit = group_limit(rules)
    if limit is not None and limit < rules["group_size"]:
        raise ValueError("group_max: below group_size")
    if rules["run_length"] > len(places_of(rules)):
        raise ValueError("run_length: more than the ranks of the pack")
    if rules["min_naturals"] > min(rules["group_size"], rules["run_length"]):
        raise ValueError("min_naturals: above the meld size (group_size, run_length)")


def _check_rounds(rules: Rules) -> None:
    _check_deal(rules)
    if free_melds(rules):
        _check_game_end(rules)
        return
    contracts, rounds, deal = rules["contracts"], rules["rounds"], rules["deal"]
    if not isinstance(contracts, list) or not contracts:
        raise ValueError("contracts: null or a list of [groups, runs] is needed")
    for contract in contracts:
        if not isinstance(contract, list | tuple) or len(contract) != 2:
            raise ValueError(f"contracts: {contract!r} is not [groups, runs]")
        for number in contract:
            check_whole(number, "contracts", 0)
        if sum(contract) == 0:
            raise ValueError("contracts: a contract asks for at least one meld")
    if rounds is not None:
        if not isinstance(rounds, list) or not rounds:
            raise ValueError("rounds: a list is needed")
        for number in rounds:
            check_whole(number, "rounds", 1, len(contracts))
    if isinstance(deal, list) and len(deal) != len(contracts):
        raise ValueError("contracts and deal: lists of different length")
    for field in ("game_end", "max_deals"):
        if rules[field] is not None:
            raise ValueError(f"{field}: only where contracts is null")


def _check_game_end(rules: Rules) -> None:
    """Where melds are free: no list of rounds, deals that are all alike, and an end of the game."""
    if rules["rounds"] is not None:
        raise ValueError("rounds: only with contracts")
    if isinstance(rules["deal"], list):
        raise ValueError("deal: a list per round needs contracts")
    end = rules["game_end"]
    if not isinstance(end, dict) or len(end) != 1 or not set(end) <= {"deals", "target"}:
        raise ValueError("game_end: a map with deals or target is needed where contracts is null")
    for number in end.values():
        check_whole(number, "game_end", 1)


def _check_deal(rules: Rules) -> None:
    deal = rules["deal"]
    if not isinstance(deal, list | dict) or not deal:
        raise ValueError("deal: a list per round or a map by players is needed")
    for number in deal.values() if isinstance(deal, dict) else deal:
        check_whole(number, "deal", 1)
    if isinstance(deal, dict):
        for key in deal:
            if str(key) not in list("23456"):
                raise ValueError(f"deal: {key!r} is not a number of players")


def _check_points(rules: Rules) -> None:
    points = rules["points"]
    if not isinstance(points, dict) or points.get("wild") is None:
        raise ValueError("points: a map from rank to number with the key wild is needed")
    for key, value in points.items():
        if key != "wild" and key not in list(ALL_RANKS):
            raise ValueError(f"points: {key!r} is no rank")
        if value is None and key == "A":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"points: {value!r} is no number")
    for rank in ranks_of(rules):
        if rank not in points and rank != "2":
            raise ValueError(f"points: nothing is said of {rank}")
