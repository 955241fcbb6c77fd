"""One round, move by move, as the rules pages tell it: of International, of Basic, or of any rules between."""

from __future__ import annotations

import copy
import random
from typing import Any

from .cards import Rules, hand_points, in_print_order, pack, same_cards, without
from .consistency import check_course
from .layoffs import grown, texts_on
from .melds import LayDown, Meld, melds_from, parse_meld, size_as_laid
from .position import read_position
from .ruleset import (
    cards_dealt,
    check_players,
    check_rules,
    contract_of,
    free_melds,
    is_played,
    overrides_of,
    preset_of,
)
from .scoring import points_when_blocked, points_when_out


class ReferenceTable:
    """A round at the table: who holds what, who is to act, which moves are legal, what each of them does.

    `phase` is "window", "draw", "play", "laying" or "over". Once it is over, `end` tells how and `points`
    what the round adds to each seat's score; `scores` stay those with which the round began. In `stock` and
    `discards` the last card is the top one.
    """

    def __init__(self, rules: Rules, round_number: int, dealer: int, hands: list[list[str]]) -> None:
        """A table with these hands and nothing else on it, the seat after the dealer to come."""
        self.rules = rules
        self.round = round_number
        self.dealer = dealer
        self.players = len(hands)
        self.hands = [in_print_order(rules, hand) for hand in hands]
        self.phase = "draw"
        self.turn = (dealer + 1) % self.players  # whose turn it is, or comes next in a window
        self.to_act = self.turn
        self.discarder: int | None = None  # who made the top discard in the turn before
        self.passed: list[int] = []
        self.stock: list[str] = []
        self.discards: list[str] = []
        self.melds: list[Meld] = []
        self.laid: list[int] = []  # places in `melds` of what was laid this turn
        self.down: set[int] = set()
        self.taken: str | None = None
        self.buys = [0] * self.players
        self.turns = [0] * self.players
        self.scores: list[Any] = [0] * self.players
        self.reshuffles = 0
        self.acted: set[int] = set()
        self.acted_this_turn = False
        self.end: str | None = None
        self.points: list[Any] | None = None
        self._random = random.Random(0)
        self._legal: set[str] | None = None

    @classmethod
    def deal(
        cls,
        rules: Rules,
        players: int,
        round_number: int,
        dealer: int,
        deck: list[str],
        scores: list[Any] | None = None,
        rounds: list[int] | None = None,
    ) -> ReferenceTable:
        """A new round from a deck in the order in which its cards leave the pack: one at a time to each seat,
        first the one after the dealer; then the up-card; then the stock from its top.

        `rounds` replaces the rule set's list of the rounds that are played.
        """
        rules = copy.deepcopy(rules)
        if rounds is not None:
            rules["rounds"] = list(rounds)
        check_rules(rules)
        check_players(rules, players)
        if not is_played(rules, round_number):
            raise ValueError(f"round: {round_number} is not played under these rules")
        if not same_cards(deck, pack(rules)):
            raise ValueError("deck: not the cards of this pack")
        if not 0 <= dealer < players:
            raise ValueError("dealer: no such seat")
        remaining = list(deck)
        hands: list[list[str]] = [[] for _ in range(players)]
        for _ in range(cards_dealt(rules, round_number, players)):
            for distance in range(1, players + 1):
                hands[(dealer + distance) % players].append(remaining.pop(0))
        table = cls(rules, round_number, dealer, hands)
        if scores is not None:
            table.scores = list(scores)
        table.discards = [remaining.pop(0)]
        table.stock = remaining[::-1]
        table._open_window()
        return table

    @classmethod
    def from_position(cls, position: dict[str, Any]) -> ReferenceTable:
        """The table of a position; ValueError naming the card or the field where it is none of its rules."""
        found = read_position(position)
        table = cls(found["rules"], found["round"], found["dealer"], found["hands"])
        for field in (
            "phase", "turn", "to_act", "discarder", "passed", "stock", "discards", "melds", "taken", "buys",
            "turns", "scores", "reshuffles", "acted_this_turn",
        ):  # fmt: skip
            setattr(table, field, found[field])
        table.laid = found["laid_this_turn"]
        table.down = set(found["down"])
        table.acted = set(found["acted"])
        check_course(table)
        if table.phase == "draw" and not table.stock and not table.discards:
            table._finish("blocked")
        return table

    def position(self) -> dict[str, Any]:
        """Every field of the position as it is now (after the end the `phase` is "over")."""
        return {"rules": preset_of(self.rules), "overrides": overrides_of(self.rules), **self.fields()}

    def fields(self) -> dict[str, Any]:
        """The fields of the position that a move can change, and the round."""
        return {
            "round": self.round,
            "dealer": self.dealer,
            "phase": self.phase,
            "to_act": self.to_act,
            "turn": self.turn,
            "discarder": self.discarder,
            "passed": list(self.passed),
            "hands": [" ".join(hand) for hand in self.hands],
            "stock": " ".join(self.stock),
            "discards": " ".join(self.discards),
            "melds": [{"owner": meld.owner, "meld": meld.text} for meld in self.melds],
            "down": sorted(self.down),
            "laid_this_turn": [self.melds[place].text for place in self.laid],
            "taken": self.taken,
            "buys": list(self.buys),
            "turns": list(self.turns),
            "scores": list(self.scores),
            "reshuffles": self.reshuffles,
            "acted": sorted(self.acted),
            "acted_this_turn": self.acted_this_turn,
        }

    # What is legal

    def legal(self) -> set[str]:
        """The moves of the seat to act, as texts; none once the round is over."""
        if self._legal is None:
            if self.phase == "window":
                self._legal = self._window_moves()
            elif self.phase == "draw":
                self._legal = self._draw_moves()
            elif self.phase == "play":
                self._legal = self._discard_moves() | self._lay_moves() | set(self._lay_offs())
            elif self.phase == "laying":
                self._legal = self._lay_moves()
            else:
                self._legal = set()
        return set(self._legal)

    def needs_restock(self, text: str) -> list[str] | None:
        """The cards, in no order, of the new stock that this legal move forms; None where it forms none.

        A stock that is turned over has an order of its own: they are then in drawing order.
        """
        if text not in self.legal():
            return None
        if text == "stock":
            needed = 1
        elif text == "buy":
            needed = self.rules["buy_extra"]
        else:
            return None
        if needed <= len(self.stock) or self.barred():
            return None
        return self._new_stock(buying=text == "buy")

    def _new_stock(self, buying: bool) -> list[str]:
        """The discards that become the stock, the oldest first: all but the top one, or where the pile is turned over
        its top too. A card that is being bought still lies on the pile and stays there."""
        with_top = self.turned_over() and not buying
        return list(self.discards) if with_top else self.discards[:-1]

    def turned_over(self) -> bool:
        """Whether the pile becomes the stock as it is, unshuffled."""
        return bool(self.rules["stock_out"] == "turn_over")

    def _window_moves(self) -> set[str]:
        """P may take or pass, and buy where that is allowed; the others buy or pass."""
        moves = {"pass"}
        if self.to_act == self.turn:
            moves.add("take")
        if self._may_buy(self.to_act):
            moves.add("buy")
        return moves

    def _draw_moves(self) -> set[str]:
        """The top discard if there is one; the stock if it has a card, can be formed anew, or to decline."""
        moves = set()
        if self.discards:
            moves.add("take")
        if self.stock or self.barred() or self._new_stock(buying=False):
            moves.add("stock")
        return moves

    def _discard_moves(self) -> set[str]:
        """Any card, but the one taken this turn, unless the whole hand is that card."""
        hand = self.hands[self.to_act]
        allowed = [card for card in hand if card != self.taken]
        return {f"discard {card}" for card in allowed or hand}

    def _lay_moves(self) -> set[str]:
        """Melds of the contract that may be laid now, by a player who has not laid down before; or any single meld."""
        if free_melds(self.rules):
            return {f"lay {meld.text}" for meld in self._free_lays()}
        if self.to_act in self.down:
            return set()
        return {f"lay {meld.text}" for meld in self.lay_down().moves()}

    def _free_lays(self) -> list[Meld]:
        """Every meld that may be laid where melds are free: one more this turn, of cards in the hand."""
        if not self.may_meld(len(self.laid)):
            return []
        hand, left = self.hands[self.to_act], int(self.rules["final_discard"])
        kinds = [kind for kind in "GR" if len(hand) - size_as_laid(self.rules, kind) >= left]
        return [meld for kind in kinds for meld in melds_from(self.rules, kind, hand)]

    def may_meld(self, laid: int) -> bool:
        """Whether a turn in which so many melds have been laid allows another one (where melds are free)."""
        limit = self.rules["melds_per_turn"]
        return limit is None or laid < limit

    def lay_down(self) -> LayDown:
        """What the player to act has still to lay of the contract."""
        laid = [self.melds[place] for place in self.laid]
        groups, runs = contract_of(self.rules, self.round)
        groups -= sum(meld.kind == "G" for meld in laid)
        runs -= sum(meld.kind == "R" for meld in laid)
        return LayDown(self.rules, self.hands[self.to_act], groups, runs, laid)

    def _lay_offs(self) -> dict[str, tuple[str, list[int]]]:
        """The lay-offs: for each text its card and the places of all melds that take it."""
        found: dict[str, tuple[str, list[int]]] = {}
        seat, free = self.to_act, free_melds(self.rules)
        if seat not in self.down and (not free or self.rules["layoff_needs_own_meld"]):
            return found
        if self.laid and not free and not self.rules["same_turn_layoff"]:
            return found
        if self.rules["final_discard"] and len(self.hands[seat]) == 1:
            return found
        for place, meld in enumerate(self.melds):
            if self.rules["layoff_own_only"] and meld.owner != seat:
                continue
            for card in set(self.hands[seat]):
                for text in texts_on(self.rules, meld, card):
                    found.setdefault(text, (card, []))[1].append(place)
        return found

    # The buy window and the stock

    def barred(self) -> bool:
        """Whether the stock, once empty, may not be formed anew."""
        if self.rules["stock_out"] == "end":
            return True
        return self.rules["max_recycles"] is not None and self.reshuffles >= self.rules["max_recycles"]

    def _for_sale(self) -> bool:
        """Whether the top discard is one that the rules offer at all: a fresh discard always, the first
        up-card and a card uncovered by a buy by their switches.

        The last two are told apart by what has happened: the first up-card lies alone, before any turn.
        """
        if not self.discards:
            return False
        if self.discarder is not None:
            return True
        if len(self.discards) == 1 and not any(self.turns) and not any(self.buys):
            return bool(self.rules["buy_first_upcard"])
        return bool(self.rules["uncovered_live"])

    def _may_buy(self, seat: int) -> bool:
        """Whether a seat may buy the top discard, for all reasons the rules give."""
        if not self._for_sale():
            return False
        if self.rules["max_buys"] is not None and self.buys[seat] >= self.rules["max_buys"]:
            return False
        if seat in self.down and not self.rules["buy_when_down"]:
            return False
        if seat == self.discarder:
            return False
        if seat == self.turn and not self.rules["turn_player_may_buy"]:
            return False
        below = len(self.discards) - 1
        extra = int(self.rules["buy_extra"])
        if extra > len(self.stock) and self.barred():
            return False
        return len(self.stock) + below - extra >= 1  # a stock card or a discard is left for P

    def asked(self) -> list[int]:
        """The seats that are asked about the top discard, in order: nobody where nobody may buy it."""
        after = [(self.turn + distance) % self.players for distance in range(1, self.players)]
        others = [seat for seat in after if self._may_buy(seat)]
        if not others and not self._may_buy(self.turn):
            return []
        return [self.turn, *others]

    def _open_window(self) -> None:
        """Offer the top discard afresh, from P; where nobody may buy it, P's turn begins."""
        self.passed = []
        self._ask()

    def _ask(self) -> None:
        """Ask the next seat, or begin P's turn."""
        open_seats = [seat for seat in self.asked() if seat not in self.passed]
        if open_seats:
            self.phase = "window"
            self.to_act = open_seats[0]
        else:
            self._begin_turn()

    def _begin_turn(self) -> None:
        """P is to draw; where there is nothing to draw the round is blocked."""
        self.phase = "draw"
        self.to_act = self.turn
        self.passed = []
        if not self.stock and not self.discards:
            self._finish("blocked")

    # What a move does

    def play(self, text: str, restock: list[str] | None = None) -> None:
        """Make a move of the seat to act; ValueError where it is not legal.

        `restock` is a new stock in drawing order, for a move that forms one; without it one is shuffled.
        """
        if text not in self.legal():
            raise ValueError(f"{text!r} is not legal for seat {self.to_act} (phase {self.phase})")
        forming = self.needs_restock(text)
        if restock is not None:
            if forming is None or not same_cards(restock, forming):
                raise ValueError(f"{text!r}: not the cards of a new stock: {restock}")
            if self.turned_over() and restock != forming:
                raise ValueError(f"{text!r}: the pile is turned over unshuffled: {restock}")
        word, *rest = text.split(" ", 1)
        if word == "pass":
            self.passed.append(self.to_act)
            self._ask()
        elif word == "buy":
            self._buy(restock)
        elif word == "take":
            self._take()
        elif word == "stock":
            self._draw(restock)
        elif word == "lay":
            self._lay(rest[0])
        elif word == "off":
            self._lay_off(text)
        else:
            self._discard(rest[0])
        self._legal = None

    def _give(self, seat: int, card: str) -> None:
        """Put a card in a hand."""
        self.hands[seat] = in_print_order(self.rules, [*self.hands[seat], card])

    def _from_stock(self, restock: list[str] | None, buying: bool) -> str:
        """The next stock card; an empty stock is first formed anew from the discards."""
        if not self.stock:
            new = self._new_stock(buying)
            self.discards = self.discards[len(new) :]
            if restock is not None:
                new = list(restock)
            elif not self.turned_over():
                self._random.shuffle(new)
            self.stock = new[::-1]
            self.reshuffles += 1
            if not self.discards:
                self.discarder = None
        return self.stock.pop()

    def _buy(self, restock: list[str] | None) -> None:
        """The extra cards, while the bought card still lies on top; then that card; then a fresh pass."""
        buyer = self.to_act
        for _ in range(self.rules["buy_extra"]):
            self._give(buyer, self._from_stock(restock, buying=True))
        self._give(buyer, self.discards.pop())
        self.buys[buyer] += 1
        self.discarder = None
        self._open_window()

    def _take(self) -> None:
        """The top discard as the draw of P's turn, in a window too; the ban on discarding it begins."""
        card = self.discards.pop()
        self._give(self.turn, card)
        self.discarder = None  # what lies on top now was not discarded in the turn before
        if self.rules["redraw_ban"]:
            self.taken = card
        self._drawn()

    def _draw(self, restock: list[str] | None) -> None:
        """A stock card as the draw; where the stock is empty for good this declines the discard."""
        if not self.stock and self.barred():
            self._finish("blocked")
            return
        self._give(self.turn, self._from_stock(restock, buying=False))
        self._drawn()

    def _drawn(self) -> None:
        """The turn counts at its draw."""
        self.turns[self.turn] += 1
        self.passed = []
        self.to_act = self.turn
        self.phase = "play"

    def _lay(self, text: str) -> None:
        """A meld of the contract; with the last one the player is down. Where melds are free one is enough."""
        seat = self.to_act
        meld = parse_meld(self.rules, text, seat)
        self.hands[seat] = without(self.hands[seat], meld.cards)
        self.laid.append(len(self.melds))
        self.melds.append(meld)
        self._melded(meld.cards)
        if not free_melds(self.rules):
            missing = self.lay_down()
            if missing.groups + missing.runs:
                self.phase = "laying"
                return
        self.phase = "play"
        self.down.add(seat)
        if not self.hands[seat]:
            self._finish("out")

    def _lay_off(self, text: str) -> None:
        """A card for a meld on the table: the shortest of those that take it, of equals the oldest."""
        seat = self.to_act
        card, places = self._lay_offs()[text]
        place = min(places, key=lambda place: (len(self.melds[place]), place))
        meld = self.melds[place]
        self.melds[place] = grown(self.rules, meld, card, low="low" in text.split())
        self.hands[seat] = without(self.hands[seat], [card])
        self._melded([card])
        if not self.hands[seat]:
            self._finish("out")

    def _melded(self, cards: list[str]) -> None:
        """The ban ends as soon as a card of its kind is melded or laid off."""
        self.acted_this_turn = True
        if self.taken in cards:
            self.taken = None

    def _discard(self, card: str) -> None:
        """The end of the turn: out, the turn limit, or the window for the next player's turn."""
        seat = self.to_act
        self.hands[seat] = without(self.hands[seat], [card])
        self.discards.append(card)
        if not self.hands[seat]:
            self._finish("out")
            return
        if self.acted_this_turn:
            self.acted.add(seat)
        self.acted_this_turn = False
        self.laid = []
        self.taken = None
        self.discarder = seat
        self.turn = (seat + 1) % self.players
        limit = self.rules["max_turns"]
        if limit is not None and self.turns[self.turn] >= limit:
            self._finish("turn_limit")
            return
        self._open_window()

    def _finish(self, end: str) -> None:
        """The round is over: somebody is out, or nobody is."""
        self.phase = "over"
        self.end = end
        hands = [hand_points(self.rules, hand) for hand in self.hands]
        if end == "out":
            in_one_turn = self.acted_this_turn and self.to_act not in self.acted
            self.points = points_when_out(self.rules, hands, self.to_act, in_one_turn)
        else:
            self.points = points_when_blocked(self.rules, hands)
        self._legal = None
