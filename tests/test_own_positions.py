"""The project's own positions: what they state holds in the engine and in the reference, and they show every rule field.

There is a file of them for each game. A position declares with `fields` which values of rule fields it shows. That is
checked, not believed: with the value taken away, or where it is the default with another in its place, something along
the entry must come out differently. A field may change nothing where the rules say so, and that is checked too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rummy_env.game import Game
from rummy_env.rules import _CHOICES, _FLAGS, _WHOLE, DEALS, FIELDS, POINTS, PRESETS, Rules, preset, resolve_rules
from tests.positions_runner import check_scenario, load_scenarios
from tests.reference import ReferenceTable
from tests.reference.test_reference_scenarios import differences, entries

Entry = dict[str, Any]

GAMES = ("international", "basic")
POSITIONS: dict[str, list[Entry]] = {
    game: load_scenarios(Path(__file__).parent / "positions" / f"{game}.jsonl") for game in GAMES
}
ALL = [(game, entry) for game in GAMES for entry in POSITIONS[game]]
IDS = [f"{game}-{entry['id']}" for game, entry in ALL]

each_position = pytest.mark.parametrize("entry", [entry for _, entry in ALL], ids=IDS)
each_game = pytest.mark.parametrize("game", GAMES)

# What the positions state


@each_position
def test_the_engine_plays_by_it(entry: Entry) -> None:
    """Every entry at every depth."""
    check_scenario(entry)


@each_position
def test_the_reference_plays_by_it(entry: Entry) -> None:
    """The same for the reference, which shares no code with the engine."""
    check_reference(entry)


def check_reference(entry: Entry) -> None:
    """As `check_scenario`, for the reference."""
    title = f"{entry['id']}: {entry['rule']}"
    if "refused" in entry:
        with pytest.raises(ValueError) as error:
            ReferenceTable.from_position(entry["position"])
        assert any(word in str(error.value) for word in entry["refused"]), (title, str(error.value))
        return
    for moves, stated in entries({key: value for key, value in entry.items() if key != "fields"}):
        table = ReferenceTable.from_position(entry["position"])
        for move in moves:
            table.play(move)
        assert differences(table, stated) == [], f"{title} after {moves}"


# Their form

STATED = {
    "legal", "legal_includes", "legal_excludes", "after", "phase", "to_act", "hand_sizes", "stock_size", "top_discard",
    "table", "round_end", "points", "game_over", "next",
}  # fmt: skip
NEXT = {"round", "dealer", "hand_sizes", "stock_size", "phase", "to_act", "scores"}


@each_game
def test_ids_are_unique(game: str) -> None:
    """A failure names one entry."""
    ids = [entry["id"] for entry in POSITIONS[game]]
    assert len(set(ids)) == len(ids)


@each_position
def test_nothing_is_stated_that_no_test_reads(entry: Entry) -> None:
    """A misspelt key would never fail; an entry that states nothing would not either."""
    assert set(entry) <= {"id", "rule", "fields", "position", "refused"} | STATED
    assert "refused" in entry or "legal" in entry or "legal_includes" in entry
    for moves, stated in entries(entry):
        if moves:
            assert set(stated) <= STATED, moves
            assert set(stated), moves
        assert set(stated.get("next", {})) <= NEXT, moves


@each_game
def test_a_position_stands_in_the_file_of_its_game(game: str) -> None:
    """Its rules are those of a preset of that game, with overrides."""
    named = {entry["position"]["rules"] for entry in POSITIONS[game]} & set(PRESETS)
    assert named == {name for name in PRESETS if game_of(name) == game}


def game_of(name: str) -> str:
    """The game to which a preset belongs: it differs from that one in fewer fields than from the other."""
    return min(GAMES, key=lambda game: len(changed(preset(name), preset(game))))


def changed(rules: Rules, default: Rules) -> Entry:
    """The fields in which rules differ from others, with their values as a position has them."""
    own = rules.to_dict()
    return {name: own[name] for name in FIELDS if own[name] != default.to_dict()[name]}


# That the runner can fail


NO_MOVE = "discard 1c"
"""A text that is legal in no position."""


def mutated(entry: Entry) -> Iterator[tuple[str, Entry]]:
    """Copies of an entry with one statement made false, each with the name of what was changed."""
    for moves, stated in entries(entry):
        for key, value in stated.items():
            if key in STATED - {"after"} or key == "refused":
                for kind, wrong in falsified(key, value):
                    changed = copy.deepcopy(entry)
                    place = changed
                    for move in moves:
                        place = place["after"][move]
                    place[key] = wrong
                    yield kind, changed
        for move in stated.get("after", {}):
            changed = copy.deepcopy(entry)
            place = changed
            for earlier in moves:
                place = place["after"][earlier]
            place["after"][NO_MOVE] = place["after"].pop(move)
            yield "move", changed


def falsified(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Values that are not the one stated."""
    if key in ("legal", "legal_includes"):
        yield f"{key} more", [*value, NO_MOVE]
    if key == "legal":
        yield "legal less", value[1:]
    if key == "legal_excludes":
        return  # an addition could be true
    if key in ("phase", "round_end", "top_discard"):
        yield key, f"{value}?"
    elif key in ("to_act", "stock_size", "dealer", "round"):
        yield key, value + 1
    elif key in ("hand_sizes", "points", "scores"):
        yield key, [*value[:-1], value[-1] + 1]
    elif key == "game_over":
        yield key, not value
    elif key == "refused":
        yield key, ["words that no message has"]
    elif key == "table":
        for field in value:
            yield f"table {field}", {**value, field: [0, 1, 2, 3, 4, 5]}
    elif key == "next":
        for field, given in value.items():
            for kind, wrong in falsified(field, given):
                yield f"next {kind}", {**value, field: wrong}


def some_mutations(most: int = 4) -> list[Any]:
    """A few of each kind in each game."""
    found: dict[tuple[str, str], list[Any]] = {}
    for game, entry in ALL:
        for kind, wrong in mutated(entry):
            several = found.setdefault((game, kind), [])
            if len(several) < most and all(param.values[1]["id"] != entry["id"] for param in several):
                several.append(pytest.param(kind, wrong, id=f"{kind}-{game}-{entry['id']}"))
    return [param for params in found.values() for param in params]


MUTATIONS = some_mutations()


@pytest.mark.parametrize(("kind", "wrong"), MUTATIONS)
def test_a_false_statement_fails(kind: str, wrong: Entry) -> None:
    """Both runners fail where one statement of an entry is false, or a move is none."""
    for check in (check_scenario, check_reference):
        with pytest.raises(ValueError if kind == "move" else AssertionError):
            check(wrong)


def test_a_move_that_is_excluded_fails() -> None:
    """`legal_excludes` is read."""
    entry = next(entry for _, entry in ALL if entry.get("legal"))
    wrong = {key: value for key, value in entry.items() if key not in ("legal", "after")}
    wrong["legal_excludes"] = entry["legal"][:1]
    with pytest.raises(AssertionError):
        check_scenario(wrong)
    with pytest.raises(AssertionError):
        check_reference(wrong)


def test_an_accepted_position_that_should_be_refused_fails() -> None:
    """`refused` asks for an error."""
    wrong = {
        "id": "wrong",
        "rule": "none",
        "position": {"rules": "international", "hands": ["9h", "3c"], "to_act": 0},
        "refused": ["9h"],
    }
    for check in (check_scenario, check_reference):
        with pytest.raises(pytest.fail.Exception):
            check(wrong)


# That they show every value of every rule field

LINKED = {"contracts": ("deal", "game_end", "max_deals")}  # what stands or falls with them


def rules_of(entry: Entry) -> Rules:
    """The rules of a position. Raises ValueError where they are refused."""
    return resolve_rules(entry["position"]["rules"], entry["position"].get("overrides"))


def overrides_of(game: str, entry: Entry) -> Entry:
    """The rules of a position as overrides of the game's default, whatever preset it names."""
    return changed(rules_of(entry), preset(game))


def outcomes(game: str, entry: Entry, overrides: Entry) -> dict[tuple[str, ...], Any] | None:
    """What is seen at every depth of an entry when it is played by these rules; None where they are refused.

    Nothing here depends on how cards were shuffled.
    """
    try:
        resolve_rules(game, overrides)
    except ValueError:
        return None
    position = {**entry["position"], "rules": game, "overrides": overrides}
    found: dict[tuple[str, ...], Any] = {}
    for moves, _ in entries(entry):
        try:
            table = Game.from_position(position)
            for move in moves:
                table.play(move)
        except ValueError:
            found[moves] = "refused"
            continue
        now = table.position()
        found[moves] = {
            "legal": {move.text for move in table.moves()},
            "hand_sizes": [len(hand.split()) for hand in now["hands"]],
            "stock_size": int(table.state.num_stock),
            "last_round": table.last_round,
            "over": table.over,
            **{key: now[key] for key in ("phase", "to_act", "round", "dealer", "melds", "buys", "turns", "reshuffles")},
        }
    return found


def declared(game: str, entry: Entry) -> Iterator[tuple[str, Any]]:
    """The fields whose effect an entry shows, with the value as rules have it."""
    for field, value in entry.get("fields", {}).items():
        if value == "default":
            yield field, getattr(preset(game), field)
        else:
            yield field, getattr(rules_of(entry).replace(**{field: value}), field)


@cache
def others(game: str, field: str) -> list[Entry]:
    """Overrides that give a field another value than its default, one for each value that a position shows."""
    found: list[Entry] = []
    for entry in POSITIONS[game]:
        for name, value in declared(game, entry):
            if name == field and value != getattr(preset(game), field):
                overrides = overrides_of(game, entry)
                values = {key: overrides[key] for key in (field, *LINKED.get(field, ())) if key in overrides}
                if values not in found:
                    found.append(values)
    return found


def shows(game: str, entry: Entry, field: str, value: Any) -> bool:
    """Whether something along the entry depends on the field having this value."""
    assert getattr(rules_of(entry), field) == value, "not the value that the position has"
    given = overrides_of(game, entry)
    names = (field, *LINKED.get(field, ()))
    without = {name: item for name, item in given.items() if name not in names}
    variants = [{**given, **other} for other in others(game, field)] if field not in given else [without]
    own = outcomes(game, entry, given)
    compared = [outcomes(game, entry, variant) for variant in variants]
    assert own is not None
    assert any(other is not None for other in compared), "the rules are refused without the value"
    return any(other is not None and other != own for other in compared)


DECLARED = [
    pytest.param(game, entry, field, value, id=f"{field}-{game}-{entry['id']}")
    for game, entry in ALL
    for field, value in declared(game, entry)
]


@pytest.mark.parametrize(("game", "entry", "field", "value"), DECLARED)
def test_a_position_shows_the_field_that_it_declares(game: str, entry: Entry, field: str, value: Any) -> None:
    """Without the value, something along the entry is otherwise."""
    assert shows(game, entry, field, value)


@each_game
def test_a_value_without_effect_is_found_out(game: str) -> None:
    """The check above can fail: a turn limit far away changes nothing."""
    entry = next(entry for entry in POSITIONS[game] if entry["id"] == "discard-one-card")
    position = {**entry["position"], "overrides": {"max_turns": 40}}
    assert not shows(game, {**entry, "position": position}, "max_turns", 40)


REFUSED: dict[str, dict[str, Any]] = {
    "international": {"game_end": {"deals": 3}, "max_deals": 3},
    "basic": {"rounds": [1]},
}
"""Fields that are null in a game: the first are for free melds only, the last for contracts only. Any value is refused."""


def under_contracts(rules: Rules) -> bool:
    return rules.contracts is not None


def where_melds_are_free(rules: Rules) -> bool:
    return rules.contracts is None


def without_buys(rules: Rules) -> bool:
    return rules.max_buys == 0


def always(rules: Rules) -> bool:
    return True


WITHOUT_EFFECT: list[tuple[str, Any, Callable[[Rules], bool]]] = [
    ("name", "ours", always),
    ("melds_per_turn", 1, under_contracts),
    ("layoff_needs_own_meld", True, under_contracts),
    ("distinct_groups", True, where_melds_are_free),
    ("separate_runs", True, where_melds_are_free),
    ("same_turn_layoff", True, where_melds_are_free),
    ("buy_when_down", False, without_buys),
    ("turn_player_may_buy", True, without_buys),
    ("uncovered_live", False, without_buys),
    ("buy_first_upcard", False, without_buys),
    ("buy_extra", 2, without_buys),
]
"""A label, and what the page of fields says to be without effect, and where."""


def excepted(game: str) -> set[str]:
    """Fields that no position of the game can show: they have one value, or no effect by the game's default rules.

    Those of buying have one in Basic too, once buying is switched on.
    """
    effectless = {field for field, _, holds in WITHOUT_EFFECT if holds is not without_buys and holds(preset(game))}
    return {*REFUSED[game], *effectless}


ANOTHER = object()
NAMED: dict[str, tuple[Any, ...]] = {
    "max_buys": (0, None), "min_naturals": (0, 2), "max_recycles": (0,), "max_wilds": (0,),
    "melds_per_turn": (None,), "max_deals": (None,),
}  # fmt: skip
"""Numbers that mean something of their own."""


def wanted(game: str, field: str) -> list[Any]:
    """The values of a field that positions must show; `ANOTHER` is any besides those listed."""
    default = getattr(preset(game), field)
    if field in _FLAGS:
        return [False, True]
    if field in _CHOICES:
        return list(_CHOICES[field])
    if field in _WHOLE:
        least, most, nullable = _WHOLE[field]
        if most - least <= 2:
            return [*range(least, most + 1), *([None] if nullable else [])]
        return [default, ANOTHER, *NAMED.get(field, ())]
    if field == "deal" and under_contracts(preset(game)):
        return [*DEALS.values(), ANOTHER]
    if field == "points":
        return [default, *(preset(game).replace(points=name).points for name in POINTS), ANOTHER]
    if field == "contracts":
        return [default, None, ANOTHER]
    return [default, ANOTHER]


SHOWN = [(game, field) for game in GAMES for field in FIELDS if field not in excepted(game)]


@pytest.mark.parametrize(("game", "field"), SHOWN)
def test_positions_show_every_value(game: str, field: str) -> None:
    """Every choice, both values of a flag, null and a number; that they do show it is checked one by one above."""
    shown = [value for entry in POSITIONS[game] for name, value in declared(game, entry) if name == field]
    known = [value for value in wanted(game, field) if value is not ANOTHER]
    missing = [value for value in known if value not in shown]
    assert not missing, f"no position shows {field} {missing}"
    if ANOTHER in wanted(game, field):
        assert any(value not in known for value in shown), f"no other {field}"


def test_both_ends_of_a_game_are_shown() -> None:
    """A fixed number of deals, and a target besides the default."""
    ends = {
        kind
        for entry in POSITIONS["basic"]
        for field, value in declared("basic", entry)
        if field == "game_end" and value != preset("basic").game_end
        for kind in value
    }
    assert ends == {"deals", "target"}


@each_game
def test_every_field_has_its_place(game: str) -> None:
    """A new field needs positions, or a reason why it has none."""
    shown = {field for entry in POSITIONS[game] for field in entry.get("fields", {})}
    assert shown | excepted(game) == set(FIELDS)
    assert not shown & excepted(game)


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in GAMES])
def test_positions_show_all_that_a_preset_changes(name: str) -> None:
    """A preset is a set of values; each of them is seen in a position that names the preset."""
    game = game_of(name)
    given = set(changed(preset(name), preset(game))) - {"name"}
    shown = {
        field
        for entry in POSITIONS[game]
        if entry["position"]["rules"] == name
        for field in entry.get("fields", {})
        if field not in entry["position"].get("overrides", {})
    }
    assert given == shown


RULES_OF_THE_ORIGINAL = (
    {"melds_per_turn"}, {"layoff_needs_own_meld"}, {"going_rummy"}, {"ace", "high_or_low"}, {"ace", "corner"},
)  # fmt: skip
"""The house rules of Basic that the original names; the places of the ace are two values of one field."""


def in_order(rule: set[str]) -> str:
    """The name of a test, the same in every process."""
    return " ".join(sorted(rule))


@pytest.mark.parametrize("first", RULES_OF_THE_ORIGINAL[:3], ids=in_order)
@pytest.mark.parametrize("second", RULES_OF_THE_ORIGINAL, ids=in_order)
def test_house_rules_are_shown_in_pairs(first: set[str], second: set[str]) -> None:
    """Some position shows both, each of which matters in it."""
    if first == second:
        return
    assert any(
        all(rule <= {*entry.get("fields", {}), *map(str, entry.get("fields", {}).values())} for rule in (first, second))
        for entry in POSITIONS["basic"]
    )


@pytest.mark.parametrize(("game", "field", "value"), [(game, *item) for game in GAMES for item in REFUSED[game].items()])
def test_fields_of_the_other_kind_of_game_are_refused(game: str, field: str, value: Any) -> None:
    """Positions state it."""
    assert any(
        entry["position"].get("overrides", {}) == {field: value} and entry.get("refused") == [field]
        for entry in POSITIONS[game]
    )
    with pytest.raises(ValueError, match=field):
        preset(game).replace(**{field: value})


@pytest.mark.parametrize(("game", "entry"), ALL, ids=IDS)
def test_fields_without_effect_change_nothing(game: str, entry: Entry) -> None:
    """All of them at once, in every position, whatever it shows."""
    try:
        rules = rules_of(entry)
    except ValueError:
        return
    effectless = {field: value for field, value, holds in WITHOUT_EFFECT if holds(rules)}
    free = {name: item for name, item in overrides_of(game, entry).items() if name not in effectless}
    assert outcomes(game, entry, {**free, **effectless}) == outcomes(game, entry, free)


@pytest.mark.parametrize(("field", "value", "holds"), WITHOUT_EFFECT)
def test_positions_state_each_field_without_effect(field: str, value: Any, holds: Callable[[Rules], bool]) -> None:
    """One gives the field that value, where it has no effect."""
    assert any(
        entry["position"].get("overrides", {}).get(field) == value and "refused" not in entry and holds(rules_of(entry))
        for _, entry in ALL
    )
