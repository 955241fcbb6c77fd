"""Melds: what can be formed from a hand, how far a hand is from a contract, and the texts of melds.

The brute force here is plain Python over written-out melds and shares nothing with the kernels. It knows International's
ranks only: places 0 .. 11 are 3 .. A, a card is (suit, place), and wilds are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from rummy_env.analysis import mark_companions
from rummy_env.cards import parse_cards
from rummy_env.engine.contracts import KNOWN_RUNS, can_form, contract_gap, mark_needed
from rummy_env.engine.tables import Tables, compile_tables
from rummy_env.melds import MAX_CONTRACT, catalogue, pack_of, parse_meld
from rummy_env.rules import CONTRACTS, Rules, preset

ENDS = preset("basic").replace(
    ranks=["A", "3", "7"], ace="high_or_low", decks=2, jokers=6, run_length=4, deal={"2": 7}, players_max=2
)
SUITS = "cdhs"
HIGH = "3456789TJQKA"
PLACES = 12

Card = tuple[int, int]  # (suit, place)
Hand = tuple[int, ...]  # 48 counts by suit * 12 + place, then the wilds


def rules_with(**overrides: Any) -> Rules:
    return preset("international").replace(**overrides)


def counts(text_or_kinds: str | list[int]) -> np.ndarray:
    kinds = parse_cards(text_or_kinds) if isinstance(text_or_kinds, str) else text_or_kinds
    return np.bincount(kinds, minlength=53).astype(np.int8)


def as_hand(row: np.ndarray) -> Hand:
    """The brute force's form of 53 counts: the engine's ranks are A 2 3 .. K, so 3 .. K A are 2 .. 12, 0."""
    return (*(int(row[suit * 13 + (place + 2) % 13]) for suit in range(4) for place in range(PLACES)), int(row[52]))


# Brute force: whether a contract can be formed


class Shape:
    """A meld with its cards as 49 counts, and what the switches ask about it."""

    def __init__(self, is_run: bool, suit: int, low: int, cards: list[Card], wilds: int):
        self.is_run, self.suit, self.low = is_run, suit, low
        held = Counter(suit * PLACES + place for suit, place in cards)
        self.needs = tuple(held.items()) + (((48, wilds),) if wilds else ())
        self.naturals, self.wilds = len(cards), wilds


def shapes(rules: Rules) -> Iterator[Shape]:
    """Every group of three and run of four that may be laid."""
    most = 8 if rules.max_wilds is None else rules.max_wilds
    for place in range(PLACES):
        for size in range(4):
            for suits in combinations_with_replacement(range(4), size):
                if max(Counter(suits).values(), default=0) <= 2 and size >= rules.min_naturals and 3 - size <= most:
                    yield Shape(False, 0, place, [(suit, place) for suit in suits], 3 - size)
    for suit in range(4):
        for low in range(PLACES - 3):
            for size in range(5):
                if size >= rules.min_naturals and 4 - size <= most:
                    for steps in combinations(range(4), size):
                        yield Shape(True, suit, low, [(suit, low + step) for step in steps], 4 - size)


def may_stand_together(rules: Rules, one: Shape, other: Shape) -> bool:
    """`distinct_groups`: different ranks; `separate_runs`: in one suit at least one place between them."""
    if one.is_run != other.is_run:
        return True
    if not one.is_run:
        return not rules.distinct_groups or one.low != other.low
    return not rules.separate_runs or one.suit != other.suit or abs(one.low - other.low) > 4


class BruteForce:
    """Tries all complete contracts: every choice of melds that the hand's cards pay for."""

    def __init__(self, rules: Rules):
        self.rules = rules
        self.shapes = list(shapes(rules))
        self.free = not rules.distinct_groups and not rules.separate_runs

    def forms(self, hand: Hand, groups: int, runs: int) -> bool:
        if sum(hand) < 3 * groups + 4 * runs:
            return False
        fitting = [shape for shape in self.shapes if all(hand[kind] >= number for kind, number in shape.needs)]
        melds = [[s for s in fitting if s.is_run], [s for s in fitting if not s.is_run]]
        return self._forms(list(hand), melds, [runs, groups], 0, [], set())

    def _forms(
        self,
        hand: list[int],
        melds: list[list[Shape]],
        left: list[int],
        first: int,
        chosen: list[Shape],
        failed: set[tuple[Any, ...]],
    ) -> bool:
        """Melds of one sort are chosen in the order of the list, runs before groups; `failed` are dead ends met before."""
        sort = 0 if left[0] else 1
        if not left[sort]:
            return True
        state = (sort, left[sort], first, tuple(hand), () if self.free else tuple(map(id, chosen)))
        if state in failed:
            return False
        for at in range(first, len(melds[sort])):
            shape = melds[sort][at]
            if any(hand[kind] < number for kind, number in shape.needs):
                continue
            if not self.free and not all(may_stand_together(self.rules, shape, other) for other in chosen):
                continue
            for kind, number in shape.needs:
                hand[kind] -= number
            left[sort] -= 1
            found = self._forms(hand, melds, left, at if left[sort] else 0, [*chosen, shape], failed)
            left[sort] += 1
            for kind, number in shape.needs:
                hand[kind] += number
            if found:
                return True
        failed.add(state)
        return False


def random_hand(rng: np.random.Generator) -> np.ndarray:
    """A hand of 8 to 25 cards from one to four suits of two packs with 0 to 8 wilds."""
    suits = rng.choice(4, rng.integers(1, 5), replace=False)
    wilds = int(rng.integers(0, 9))
    size = int(rng.integers(8, 26))
    naturals = [suit * 13 + rank for suit in suits for rank in (0, *range(2, 13)) for _ in range(2)]
    kinds = rng.permutation(naturals)[: max(0, size - wilds)]
    return counts([*(int(kind) for kind in kinds), *[52] * wilds])


def forms(tables: Tables, row: np.ndarray, groups: int, runs: int) -> bool:
    """`can_form` with nothing used or known before."""
    return bool(can_form(tables, row, groups, runs, 0, 0, np.zeros(KNOWN_RUNS, np.int64)))


SWITCHES: dict[str, dict[str, Any]] = {
    "default": {},
    "wilds alone": {"min_naturals": 0},
    "two naturals": {"min_naturals": 2},
    "three naturals": {"min_naturals": 3},
    "one wild": {"max_wilds": 1},
    "no wilds": {"max_wilds": 0},
    "two naturals, two wilds": {"min_naturals": 2, "max_wilds": 2},
    "distinct groups": {"distinct_groups": True},
    "distinct groups of wilds": {"distinct_groups": True, "min_naturals": 0},
    "separate runs": {"separate_runs": True},
    "separate runs of wilds": {"separate_runs": True, "min_naturals": 0},
    "both, one wild": {"distinct_groups": True, "separate_runs": True, "max_wilds": 1},
}


@pytest.mark.parametrize("overrides", SWITCHES.values(), ids=SWITCHES)
def test_can_form_agrees_with_trying_all_contracts(overrides: dict[str, Any]) -> None:
    """A player who can form the whole contract may lay it down: exactly its groups and runs, three and four cards each."""
    rules = rules_with(**overrides)
    tables, brute = compile_tables(rules), BruteForce(rules)
    rng = np.random.default_rng(20)
    number = 1000 if overrides == {} else 300
    answers: Counter[tuple[int, int, bool]] = Counter()
    for _ in range(number):
        row = random_hand(rng)
        before, hand = row.copy(), as_hand(row)
        for groups, runs in CONTRACTS:
            expected = brute.forms(hand, groups, runs)
            found = forms(tables, row, groups, runs)
            assert found == expected, (before, groups, runs)
            answers[groups, runs, expected] += 1
        assert np.array_equal(row, before), "the hand is left as it was"
    for groups, runs in CONTRACTS:  # neither answer is rare
        assert min(answers[groups, runs, True], answers[groups, runs, False]) >= 15, (groups, runs, answers)


def test_small_hands_without_spare_cards() -> None:
    """A hand of exactly a contract's cards can be laid down; with one of its naturals changed it seldom can."""
    rules = rules_with()
    tables, brute = compile_tables(rules), BruteForce(rules)
    by_sort = {is_run: [shape for shape in brute.shapes if shape.is_run == is_run] for is_run in (False, True)}
    rng = np.random.default_rng(21)
    tried = refused = 0
    while tried < 700:
        groups, runs = CONTRACTS[tried % 7]
        hand = [0] * 49
        for is_run in (False,) * groups + (True,) * runs:
            shape = by_sort[is_run][rng.integers(len(by_sort[is_run]))]
            for kind, number in shape.needs:
                hand[kind] += number
        if max(hand[:48]) > 2 or hand[48] > 8:
            continue
        tried += 1
        for changed in (False, True):
            if changed:
                hand[rng.choice([kind for kind in range(48) if hand[kind]])] -= 1
                hand[rng.choice([kind for kind in range(48) if hand[kind] < 2])] += 1
            row = np.zeros(53, np.int8)
            for kind in range(48):
                row[kind // 12 * 13 + (kind % 12 + 2) % 13] = hand[kind]
            row[52] = hand[48]
            expected = brute.forms(tuple(hand), groups, runs)
            assert expected or changed
            refused += not expected
            assert forms(tables, row, groups, runs) == expected, (row, groups, runs)
    assert 150 < refused < 690


FEASIBLE = [
    # two runs: R5s 5s6s**** and R3s 3s******; natural-first search in ascending order misses it
    ("3s 5s 6s ** ** ** ** **", (0, 2), {}, True),
    ("3s 5s 6s ** ** ** **", (0, 2), {}, False),  # seven cards are too few
    ("3s 5s 6s ** ** ** ** **", (0, 2), {"min_naturals": 2}, False),  # three naturals make no two pairs
    ("3s 5s 6s ** ** ** ** **", (0, 2), {"max_wilds": 2}, False),
    ("3s 5s 6s ** ** ** ** **", (0, 2), {"separate_runs": True}, False),  # only 3-6 holds the 3: the others touch it
    ("3s 9s ** ** ** ** ** **", (0, 2), {"separate_runs": True}, True),  # 3-6 and 8-J
    ("3s 4s 5s 6s 7s 8s 9s Ts", (0, 2), {}, True),
    ("3s 4s 5s 6s 7s 8s 9s Ts", (0, 2), {"separate_runs": True}, False),  # 3-6 and 7-10 touch
    ("3s 4s 5s 6s 8s 9s Ts Js", (0, 2), {"separate_runs": True}, True),
    ("3s 4s 5s 6s 7h 8h 9h Th", (0, 2), {"separate_runs": True}, True),
    ("3s 3s 4s 4s 5s 5s 6s 6s", (0, 2), {}, True),  # two copies of every card
    ("3s 3s 4s 4s 5s 5s 6s 6s", (0, 2), {"separate_runs": True}, False),
    ("7c 7c 7d 7d 7h 7s", (2, 0), {}, True),  # two copies of the same card may stand in one group
    ("7c 7c 7d 7d 7h 7s", (2, 0), {"distinct_groups": True}, False),
    ("7c 7d 7h 8c ** **", (2, 0), {"distinct_groups": True}, True),
    ("7c 7d ** ** ** **", (2, 0), {"distinct_groups": True}, False),  # one natural a group, and all are sevens
    ("7c 7d ** ** ** **", (2, 0), {}, True),
    ("7c 7d ** ** ** **", (2, 0), {"distinct_groups": True, "min_naturals": 0}, True),  # wilds laid as another rank
    ("Qs Ks As 3s ** Qc Qd Qh", (1, 1), {}, True),  # JQKA
    ("Ks As 3s 4s Qc Qd Qh", (1, 1), {}, False),  # there is no going round the corner
    ("Js Qs Ks As 7c 7d", (1, 1), {}, False),
    ("Js Qs Ks As 7c 7d **", (1, 1), {"max_wilds": 0}, False),
    ("** ** ** ** ** ** **", (1, 1), {}, False),
    ("** ** ** ** ** ** **", (1, 1), {"min_naturals": 0}, True),
    ("3c ** ** ** ** ** **", (1, 1), {}, False),  # one natural can serve one meld only
    ("3c 3d ** ** ** ** **", (1, 1), {}, True),
]


@pytest.mark.parametrize(("cards", "contract", "overrides", "expected"), FEASIBLE)
def test_hands_worked_out_by_hand(cards: str, contract: tuple[int, int], overrides: dict[str, Any], expected: bool) -> None:
    """Whether the whole contract can be formed, for hands of which a person can say it."""
    rules = rules_with(**overrides)
    assert forms(compile_tables(rules), counts(cards), *contract) is expected
    assert BruteForce(rules).forms(as_hand(counts(cards)), *contract) is expected


# Brute force: how far a hand is from a contract


SMALL: dict[str, Any] = {"ranks": list("345678"), "suits": ["c", "d"], "players_max": 2, "deal": [6, 7, 8, 9, 10, 11, 11],
                         "jokers": 8, "wild_rank": None}  # fmt: skip


@cache
def most_filled(slots: tuple[tuple[int, ...], ...], held: tuple[int, ...]) -> int:
    """The most places that naturals fill: each place takes one card of the kinds that it lists, or none."""
    if not slots:
        return 0
    best = most_filled(slots[1:], held)
    for kind in slots[0]:
        if held[kind]:
            rest = (*held[:kind], held[kind] - 1, *held[kind + 1 :])
            best = max(best, 1 + most_filled(slots[1:], rest))
    return best


def least_empty(held: tuple[int, ...], groups: int, runs: int, rules: Rules) -> int:
    """The places that the best contract leaves empty, over every choice of ranks and runs (six ranks, two suits)."""
    best = 98
    for ranks in combinations_with_replacement(range(6), groups):
        if rules.distinct_groups and len(set(ranks)) < groups:
            continue
        for starts in combinations_with_replacement([(suit, low) for suit in (0, 1) for low in range(3)], runs):
            clash = any(a[0] == b[0] and abs(a[1] - b[1]) <= 4 for a, b in combinations(starts, 2))
            if rules.separate_runs and clash:
                continue
            empty = 3 * groups + 4 * runs
            for place in range(6):  # places of different ranks do not compete
                slots = [(suit,) for suit, low in starts if low <= place <= low + 3]
                slots += [(0, 1)] * (3 * ranks.count(place))
                empty -= most_filled(tuple(slots), (held[place], held[6 + place]))
            best = min(best, empty)
    return best


@pytest.mark.parametrize("switches", [{}, {"distinct_groups": True}, {"separate_runs": True}], ids=str)
def test_contract_gap_agrees_with_trying_all_contracts(switches: dict[str, Any]) -> None:
    """How many places of the best groups and runs a hand's naturals leave empty, wilds not counted."""
    rules = rules_with(**SMALL, **switches)
    tables = compile_tables(rules)
    rng = np.random.default_rng(22)
    gaps: Counter[int] = Counter()
    for _ in range(120):
        pack = [suit * 6 + place for suit in (0, 1) for place in range(6) for _ in range(2)]
        cards = rng.permutation(pack)[: rng.integers(0, 16)]
        held = tuple(int(number) for number in np.bincount(cards, minlength=12))
        row = np.zeros(53, np.int8)
        for kind, number in enumerate(held):
            row[kind // 6 * 13 + kind % 6 + 2] = number
        row[52] = rng.integers(0, 5)
        before = row.copy()
        picks = np.zeros(MAX_CONTRACT, np.int64)
        for groups, runs in CONTRACTS:
            expected = least_empty(held, groups, runs, rules)
            assert contract_gap(tables, row, groups, runs, 0, 0, picks) == expected, (before, groups, runs)
            gaps[expected] += 1
        assert np.array_equal(row, before), "the hand is left as it was"
    assert len(gaps) >= 8 and gaps[0] >= 5


def test_no_gap_beyond_the_wilds_means_that_the_contract_can_be_laid() -> None:
    """The hand is ``max(0, gap - wilds)`` cards from the contract, the limits on wilds per meld not looked at."""
    tables: Tables = compile_tables(rules_with(min_naturals=0))
    rng = np.random.default_rng(23)
    picks = np.zeros(MAX_CONTRACT, np.int64)
    answers: Counter[bool] = Counter()
    for _ in range(400):
        row = random_hand(rng)
        for groups, runs in CONTRACTS:
            near = contract_gap(tables, row, groups, runs, 0, 0, picks) <= row[52]
            assert near == forms(tables, row, groups, runs), (row, groups, runs)
            answers[bool(near)] += 1
    assert min(answers.values()) > 400


GAPS = [
    ("", (2, 0), 6),
    ("7c 7d 7h 8c", (2, 0), 2),
    ("7c 7d 8h 8c ** **", (2, 0), 2),  # wilds not counted
    ("3s 5s 6s", (0, 2), 5),
    ("7c 7d 7h 7s 8s 9s", (1, 1), 1),  # the spade seven or a seven of the group
    ("3s 4s 5s 6s Jh Qh Kh Ah", (0, 2), 0),
    ("Kh Ah 3h 4h", (0, 1), 2),
    ("7c 7c 7d 7d 7h 7h", (2, 0), 0),
    ("3s 3s 3s", (0, 1), 3),
]


@pytest.mark.parametrize(("cards", "contract", "expected"), GAPS)
def test_gaps_worked_out_by_hand(cards: str, contract: tuple[int, int], expected: int) -> None:
    """How many places of the best groups and runs the naturals leave empty."""
    picks = np.zeros(MAX_CONTRACT, np.int64)
    assert contract_gap(compile_tables(rules_with()), counts(cards), *contract, 0, 0, picks) == expected


@pytest.mark.parametrize(
    ("cards", "contract", "expected"),
    [
        ("7c 7d 7h Ks 3c", (1, 0), "7c 7d 7h"),
        ("5s 6s 8s Kh 7c 7d 7h", (1, 1), "5s 6s 8s 7c 7d 7h"),
        ("3s 4s 5s 6s 3s 4s 5s 6s 9d", (0, 2), "3s 4s 5s 6s 3s 4s 5s 6s"),
        ("3s 4s 5s 6s 6c 6d 6h Qh ** **", (1, 1), "3s 4s 5s 6s 6c 6d 6h"),
        ("7c 7d 7h 7s Kc Kd Kh", (2, 0), "one seven"),
        ("Jc Qc Kc Ac 9h", (0, 1), "Jc Qc Kc Ac"),
        ("9c Kd", (1, 0), "Kd"),  # of equal ranks the dearer
        ("Kc 9d 9h Kd", (1, 0), "Kc Kd"),
    ],
)
def test_the_cards_that_the_best_contract_uses(cards: str, contract: tuple[int, int], expected: str) -> None:
    """The naturals that the best runs and groups would use are marked, and no others."""
    tables, row = compile_tables(rules_with()), counts(cards)
    picks, needed = np.zeros(MAX_CONTRACT, np.int64), np.zeros(53, np.int8)
    gap = contract_gap(tables, row, *contract, 0, 0, picks)
    mark_needed(tables, row, *contract, 0, picks, needed)
    assert needed.sum() == 3 * contract[0] + 4 * contract[1] - gap
    assert (needed <= row).all()
    if expected == "one seven":  # three of the four sevens, whichever
        assert needed[[6, 19, 32, 45]].sum() == 3
        assert needed[[12, 25, 38]].sum() == 3
    else:
        assert np.array_equal(needed, counts(expected))


def test_no_card_is_needed_for_a_group_of_a_rank_that_is_ruled_out() -> None:
    """Kings cannot be laid twice where the groups of a contract must differ, so that only the nine helps."""
    tables, row = compile_tables(rules_with(distinct_groups=True)), counts("Kc Kd Kh 9c")
    kings = 1 << 12
    picks, needed = np.zeros(MAX_CONTRACT, np.int64), np.zeros(53, np.int8)
    assert contract_gap(tables, row, 1, 0, kings, 0, picks) == 2
    mark_needed(tables, row, 1, 0, kings, picks, needed)
    assert np.array_equal(needed, counts("9c"))


# Texts of melds


def test_the_catalogue_holds_every_meld_once() -> None:
    """360 groups (12 ranks; every choice of suits and 0 to 2 wilds) and 540 runs (9 places, 4 suits, all but all wild)."""
    pack = pack_of(rules_with())
    melds = catalogue(pack)
    assert [meld.is_run for meld in melds] == [False] * 360 + [True] * 540
    written = {meld.text(pack) for meld in melds}
    assert len(written) == 900
    expected = {(s.is_run, s.suit, s.low, s.naturals) for s in shapes(rules_with())}
    assert {(m.is_run, m.suit, m.low - 2 if not m.is_run and m.low else 11 if not m.is_run else m.low, len(m.cards) - m.wilds)
            for m in melds} == expected  # fmt: skip


@pytest.mark.parametrize(
    "overrides",
    [{}, {"min_naturals": 0}, {"ace": "low"}, {"ace": "high_or_low"}, {"ace": "corner"}, {"group_size": 4}, {"run_length": 3}],
    ids=str,
)  # fmt: skip
def test_every_meld_is_read_back_from_its_text(overrides: dict[str, Any]) -> None:
    """parse(text(x)) == x for every meld that can be laid."""
    pack = pack_of(rules_with(**overrides))
    for meld in catalogue(pack):
        assert parse_meld(meld.text(pack), pack) == meld


@pytest.mark.parametrize(
    "text",
    [
        "G8 8c8h**", "GK KcKdKs", "G7 7c7c7d7d7h7h7s7s********", "GA AcAc**", "R5s 5s**7s8s", "R3s 3s4s5s6s7s8s9sTsJsQsKsAs",
        "R3h ****5h******9h**", "RJd **QdKd**", "G7 ******", "R3c ********",
    ],
)  # fmt: skip
def test_melds_that_have_grown_are_read_back(text: str) -> None:
    """No group is limited in size; a run grows to 3..A at most. Their texts name them."""
    pack = pack_of(rules_with())
    assert parse_meld(text, pack).text(pack) == text


def test_what_a_meld_says() -> None:
    """`R5s 5s**7s8s`: cards by position; `G7 7c7h**`: naturals by suit, then wilds."""
    pack = pack_of(rules_with())
    run = parse_meld("R5s 5s**7s8s", pack)
    assert (run.is_run, run.suit, pack.places[run.low], run.cards, run.wilds) == (True, 3, 4, (43, 52, 45, 46), 1)
    group = parse_meld("G7 7c7h**", pack)
    assert (group.is_run, group.low, group.cards, group.wilds) == (False, 6, (6, 32, 52), 1)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "meld"),
        ("G7", "written like"),
        ("7c7d7h", "written like"),
        ("X7 7c7d7h", "written like"),
        ("G7 7c7d7h **", "written like"),
        ("G7 7c7d", "at least 3"),
        ("R5s 5s6s7s", "at least 4"),
        ("G7 7c7d8h", "8h is not of rank 7"),
        ("G7 7d7c7h", "by suit"),
        ("G7 7c**7h", "then wilds"),
        ("G2 2c2d2h", "'G2' names no rank"),
        ("G2 ******", "'G2' names no rank"),
        ("GX 7c7d7h", "'GX' names no rank"),
        ("G7s 7c7d7h", "'G7s' names no rank"),
        ("R5 5s6s7s8s", "'R5' names no card"),
        ("R5x 5s6s7s8s", "'R5x' names no card"),
        ("R5s 5s6s7s9s", "consecutive"),
        ("R5s 5s6s7s8h", "consecutive"),
        ("R6s 5s6s7s8s", "consecutive"),
        ("RQs QsKsAs**", "consecutive"),  # a wild can extend a run only to a position inside 3..A
        ("RKs KsAs3s4s", "consecutive"),  # there is no going round the corner
        ("R2s **3s4s5s", "consecutive"),  # 2 has no place in a run
        ("R3s 3s4s5s6s7s8s9sTsJsQsKsAs**", "consecutive"),
        ("R5s 5s2s7s8s", "consecutive"),  # a wild is written **
        ("G7 7c7d7x", "7x"),
        ("G7 7c7d7", "two characters"),
    ],
)
def test_what_is_no_meld_is_refused(text: str, word: str) -> None:
    """A ValueError says what is wrong with the text."""
    with pytest.raises(ValueError, match="no such") as error:
        parse_meld(text, pack_of(rules_with()))
    assert word in str(error.value)


def test_basic_and_the_corner_have_runs_of_their_own() -> None:
    """Basic: A-2-3 is a run; `corner`: K-A-2 too, 13 cards at most; `high_or_low`: Q-K-A, and an ace at each end."""
    basic, corner = (pack_of(preset("basic").replace(ace=ace)) for ace in ("low", "corner"))
    either = pack_of(preset("basic").replace(ace="high_or_low"))
    around = "8s9sTsJsQsKsAs2s3s4s5s6s7s"
    for text, where in {
        "RAs As2s3s": (basic, corner, either),
        "RQs QsKsAs": (corner, either),
        "RKs KsAs2s": (corner,),
        f"R8s {around}": (corner,),
        "RAs As2s3s4s5s6s7s8s9sTsJsQsKsAs": (either,),
    }.items():
        for pack in (basic, corner, either):
            if pack in where:
                assert parse_meld(text, pack).text(pack) == text
            else:
                with pytest.raises(ValueError, match="consecutive"):
                    parse_meld(text, pack)
    with pytest.raises(ValueError, match="consecutive"):
        parse_meld(f"R8s {around}8s", corner)


# A run with an ace at each end, where the ranks are so few that it is laid so


@pytest.mark.parametrize(
    ("cards", "gap"),
    [
        ("Ac 3c 7c", 1),  # A 3 7 A needs two aces
        ("Ac Ac 3c 7c", 0),
        ("Ac Ac 3c", 1),
        ("Ac", 3),
        ("Ac Ac", 2),
        ("3h 7h As", 2),
    ],
)
def test_a_run_with_an_ace_at_each_end_takes_two(cards: str, gap: int) -> None:
    tables = compile_tables(ENDS)
    row, picks = counts(cards), np.zeros(MAX_CONTRACT, np.int64)
    assert contract_gap(tables, row, 0, 1, 0, 0, picks) == gap
    for wilds in range(4):
        row[52] = wilds
        assert forms(tables, row, 0, 1) == (wilds >= gap)


def test_a_single_ace_is_no_companion_of_itself() -> None:
    """Kept are cards near in the suit: an ace alone is not near itself, though it may stand at both ends of a run."""
    needed = np.zeros(53, np.int64)
    mark_companions(compile_tables(ENDS), counts("Ac 3h"), needed)
    assert not needed.any()
    mark_companions(compile_tables(ENDS), counts("Ac 7c 3h"), needed)
    assert np.array_equal(needed, counts("Ac 7c"))
