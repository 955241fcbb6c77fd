"""The project's own positions: what they state holds in the engine and in the reference, and they show every rule field.

A position declares with `fields` which values of rule fields it shows. That is checked, not believed: with the value taken
away, or where it is the default with another in its place, something along the entry must come out differently.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rummy_env.game import Game
from rummy_env.rules import _CHOICES, _FLAGS, _WHOLE, DEALS, FIELDS, POINTS, Rules, preset, resolve_rules
from tests.positions_runner import check_scenario, load_scenarios
from tests.reference import ReferenceTable
from tests.reference.test_reference_scenarios import differences, entries

Entry = dict[str, Any]

POSITIONS: list[Entry] = load_scenarios(Path(__file__).parent / "positions" / "international.jsonl")
DEFAULT = preset("international")
IDS = [entry["id"] for entry in POSITIONS]

# What the positions state


@pytest.mark.parametrize("entry", POSITIONS, ids=IDS)
def test_the_engine_plays_by_it(entry: Entry) -> None:
    """Every entry at every depth."""
    check_scenario(entry)


OUTSIDE_THE_REFERENCE: dict[str, Any] = {"contracts": None, "max_deals": 3}
"""Values of rule fields on which the reference, which plays games with contracts only, has nothing to say."""


def outside_the_reference(entry: Entry) -> str | None:
    """The rule field that takes a position out of the reference."""
    overrides = entry["position"].get("overrides", {})
    return next((field for field, value in OUTSIDE_THE_REFERENCE.items() if overrides.get(field, "") == value), None)


@pytest.mark.parametrize("entry", POSITIONS, ids=IDS)
def test_the_reference_plays_by_it(entry: Entry) -> None:
    """The same for the reference, which shares no code with the engine."""
    if field := outside_the_reference(entry):
        pytest.skip(f"{field} is outside the reference")
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


def test_few_positions_are_outside_the_reference() -> None:
    """Skipping is the exception."""
    assert [entry["id"] for entry in POSITIONS if outside_the_reference(entry)] == ["refused-no-game-end", "refused-max-deals"]


# Their form

STATED = {
    "legal", "legal_includes", "legal_excludes", "after", "phase", "to_act", "hand_sizes", "stock_size", "top_discard",
    "table", "round_end", "points", "game_over", "next",
}  # fmt: skip
NEXT = {"round", "dealer", "hand_sizes", "stock_size", "phase", "to_act", "scores"}


def test_ids_are_unique() -> None:
    """A failure names one entry."""
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("entry", POSITIONS, ids=IDS)
def test_nothing_is_stated_that_no_test_reads(entry: Entry) -> None:
    """A misspelt key would never fail; an entry that states nothing would not either."""
    assert set(entry) <= {"id", "rule", "fields", "position", "refused"} | STATED
    assert "refused" in entry or "legal" in entry or "legal_includes" in entry
    for moves, stated in entries(entry):
        if moves:
            assert set(stated) <= STATED, moves
            assert set(stated), moves
        assert set(stated.get("next", {})) <= NEXT, moves


# That the runner can fail


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
            place["after"]["discard 2c"] = place["after"].pop(move)
            yield "move", changed


def falsified(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Values that are not the one stated."""
    if key in ("legal", "legal_includes"):
        yield f"{key} more", [*value, "discard 2c"]
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
    """A few of each kind over all positions."""
    found: dict[str, list[Any]] = {}
    for entry in POSITIONS:
        for kind, changed in mutated(entry):
            if len(found.setdefault(kind, [])) < most and all(param.values[1]["id"] != entry["id"] for param in found[kind]):
                found[kind].append(pytest.param(kind, changed, id=f"{kind}-{entry['id']}"))
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
    entry = next(entry for entry in POSITIONS if entry.get("legal"))
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

LINKED = {"contracts": ("deal",)}  # lists of one length: they change together


def outcomes(position: Entry, entry: Entry) -> dict[tuple[str, ...], Any] | None:
    """What is seen at every depth of an entry when it is played from this position; None where the rules are refused.

    Nothing here depends on how cards were shuffled.
    """
    try:
        resolve_rules(position["rules"], position.get("overrides", {}))
    except ValueError:
        return None
    found: dict[tuple[str, ...], Any] = {}
    for moves, _ in entries(entry):
        try:
            game = Game.from_position(position)
            for move in moves:
                game.play(move)
        except ValueError:
            found[moves] = "refused"
            continue
        now = game.position()
        found[moves] = {
            "legal": {move.text for move in game.moves()},
            "hand_sizes": [len(hand.split()) for hand in now["hands"]],
            "stock_size": int(game.state.num_stock),
            "last_round": game.last_round,
            "over": game.over,
            **{key: now[key] for key in ("phase", "to_act", "round", "dealer", "melds", "buys", "turns", "reshuffles")},
        }
    return found


def declared(entry: Entry) -> Iterator[tuple[str, Any]]:
    """The fields whose effect an entry shows, with the value as rules have it."""
    for field, value in entry.get("fields", {}).items():
        yield field, getattr(DEFAULT if value == "default" else changed_rules(entry, {field: value}), field)


def changed_rules(entry: Entry, values: Entry) -> Rules:
    return resolve_rules("international", {**entry["position"].get("overrides", {}), **values})


def others(field: str) -> list[Entry]:
    """Overrides that give a field another value than its default, one for each value that a position shows."""
    found: list[Entry] = []
    for entry in POSITIONS:
        for name, value in declared(entry):
            if name == field and value != getattr(DEFAULT, field):
                overrides = entry["position"]["overrides"]
                values = {key: overrides[key] for key in (field, *LINKED.get(field, ())) if key in overrides}
                if values not in found:
                    found.append(values)
    return found


def shows(entry: Entry, field: str, value: Any) -> bool:
    """Whether something along the entry depends on the field having this value."""
    position = entry["position"]
    overrides = position.get("overrides", {})
    assert getattr(resolve_rules("international", overrides), field) == value, "not the value that the position has"
    names = (field, *LINKED.get(field, ()))
    without = {name: given for name, given in overrides.items() if name not in names}
    variants = [without] if value != getattr(DEFAULT, field) else [{**overrides, **other} for other in others(field)]
    own = outcomes(position, entry)
    compared = [outcomes({**position, "overrides": variant}, entry) for variant in variants]
    assert own is not None
    assert any(other is not None for other in compared), "the rules are refused without the value"
    return any(other is not None and other != own for other in compared)


DECLARED = [
    pytest.param(entry, field, value, id=f"{field}-{entry['id']}") for entry in POSITIONS for field, value in declared(entry)
]


@pytest.mark.parametrize(("entry", "field", "value"), DECLARED)
def test_a_position_shows_the_field_that_it_declares(entry: Entry, field: str, value: Any) -> None:
    """Without the value, something along the entry is otherwise."""
    assert shows(entry, field, value)


def test_a_value_without_effect_is_found_out() -> None:
    """The check above can fail: a turn limit far away changes nothing."""
    entry = next(entry for entry in POSITIONS if entry["id"] == "discard-one-card")
    position = {**entry["position"], "overrides": {"max_turns": 40}}
    assert not shows({**entry, "position": position}, "max_turns", 40)


ONE_VALUE = {
    "ace": "high",
    "going_rummy": "none",
    "scoring": "losers_penalty",
    "blocked_scoring": "all_penalty",
}
"""Choices of which games with contracts have one value so far. Nothing can be compared with it; the points of rounds that end
with a player out, blocked and at the turn limit, and the runs, are stated by positions all the same."""

NOT_YET: dict[str, tuple[Any, ...]] = {
    **{field: tuple(value for value in _CHOICES[field] if value != played) for field, played in ONE_VALUE.items()},
    "stock_out": ("turn_over",),
    "contracts": (None,),
}
"""Values that belong to the game whose melds are free. The engine does not play them; when it does, they need positions."""

FREE_MELDS_ONLY: dict[str, Any] = {"game_end": {"deals": 3}, "max_deals": 3}
"""Fields that are null in games with contracts; any value is refused."""

WITHOUT_EFFECT: dict[str, Any] = {"name": "ours", "melds_per_turn": 1, "layoff_needs_own_meld": True}
"""A label, and what the page of fields says to be without effect under contracts."""


def wanted(field: str) -> list[Any]:
    """The values of a field that positions must show; `ANOTHER` is any besides those listed."""
    default = getattr(DEFAULT, field)
    if field in _FLAGS:
        return [False, True]
    if field in _CHOICES:
        return [choice for choice in _CHOICES[field] if choice not in NOT_YET.get(field, ())]
    if field in _WHOLE:
        least, most, nullable = _WHOLE[field]
        if most - least <= 2:
            return [*range(least, most + 1), *([None] if nullable else [])]
        return [default, ANOTHER, *NAMED.get(field, ())]
    if field == "deal":
        return [*DEALS.values(), ANOTHER]
    if field == "points":
        return [default, *(DEFAULT.replace(points=name).points for name in POINTS), ANOTHER]
    return [default, ANOTHER]


ANOTHER = object()
NAMED = {"max_buys": (0,), "min_naturals": (0, 2), "max_recycles": (0,), "max_wilds": (0,)}
"""Numbers that mean something of their own."""
SHOWN = [field for field in FIELDS if field not in {*ONE_VALUE, *FREE_MELDS_ONLY, *WITHOUT_EFFECT}]


@pytest.mark.parametrize("field", SHOWN)
def test_positions_show_every_value(field: str) -> None:
    """Every choice, both values of a flag, null and a number; that they do show it is checked one by one above."""
    shown = [value for entry in POSITIONS for name, value in declared(entry) if name == field]
    known = [value for value in wanted(field) if value is not ANOTHER]
    missing = [value for value in known if value not in shown]
    assert not missing, f"no position shows {field} {missing}"
    if ANOTHER in wanted(field):
        assert any(value not in known for value in shown), f"no other {field}"


def test_every_field_has_its_place() -> None:
    """A new field needs positions, or a reason why it has none."""
    excepted = [*ONE_VALUE, *FREE_MELDS_ONLY, *WITHOUT_EFFECT]
    assert set(excepted) <= set(FIELDS) and len(set(excepted)) == len(excepted)
    assert {field for entry in POSITIONS for field in entry.get("fields", {})} == set(SHOWN)


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in NOT_YET.items() for value in values])
def test_what_is_not_played_yet_is_refused(field: str, value: Any) -> None:
    """Else it would need a position."""
    free = {"deal": {2: 10, 3: 7, 4: 7, 5: 6, 6: 6}, "game_end": {"deals": 3}} if field == "contracts" else {}
    position = {"rules": "international", "overrides": {field: value, **free}, "hands": ["9h 4d", "3c"], "to_act": 0}
    with pytest.raises(ValueError, match=field):
        Game.from_position(position)


@pytest.mark.parametrize(("field", "value"), FREE_MELDS_ONLY.items())
def test_fields_of_free_melds_are_refused_with_contracts(field: str, value: Any) -> None:
    """Positions state it."""
    assert any(
        entry["position"].get("overrides", {}).get(field) == value and "refused" in entry and entry["refused"] == [field]
        for entry in POSITIONS
    )
    with pytest.raises(ValueError, match=field):
        DEFAULT.replace(**{field: value})


@pytest.mark.parametrize(("field", "value"), WITHOUT_EFFECT.items())
def test_fields_without_effect_change_nothing(field: str, value: Any) -> None:
    """In no position at all, whatever it shows; and one states it."""
    assert any(entry["position"].get("overrides", {}).get(field) == value for entry in POSITIONS)
    for entry in POSITIONS:
        overrides = entry["position"].get("overrides", {})
        given = {**entry["position"], "overrides": {**overrides, field: value}}
        free = {**entry["position"], "overrides": {name: item for name, item in overrides.items() if name != field}}
        assert outcomes(given, entry) == outcomes(free, entry), entry["id"]
