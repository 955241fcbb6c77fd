"""Basic Rummy (straight rummy with one pack) and its house rules for 2 to 6 players, as a PettingZoo environment.

```python
from rummy_env import basic_v0

env = basic_v0.env(players=3)
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    action = None if termination or truncation else env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
```

| | |
|---|---|
| Import | `from rummy_env import basic_v0`, or `pettingzoo.make("aec", "rummy_env/basic-v0")` |
| Agents | 2 to 6, `player_0` to `player_5` clockwise |
| Parallel API | no: agents act one after another |
| Action | `Discrete(282)`, with a mask |
| Observation | `{"observation": Box(0, 1, (1467,), float32), "action_mask": Box(0, 1, (282,), int8)}` |
| State | `Box(0, 1, (1935,), float32)` |

## Description
Rummy as most people know it: draw a card, lay down groups and runs as they come, lay single cards off on any meld, discard.
Who is rid of all cards scores what the others still hold. A game goes over several deals, to 100 points.

## Rules
One pack of 52 cards, the ace low. Two players are dealt 10 cards, three or four 7, five or six 6; one card is turned up. A
group is three or four cards of a rank, a run three or more of a suit in order.

- A turn: draw from the `stock` or `take` the top discard; then, in any order and as wished, `lay` one meld and lay any number
  of single cards `off` on melds of anybody; `discard`. The card taken in a turn may not be discarded in it.
- When the stock is out, the discard pile is turned over as it lies and drawn from again: whoever remembers the discards knows
  what comes.
- A deal ends when somebody has no card left: who is out scores the cards of all others, king to ten 10, the rest their
  number, the ace 1. It also ends, with nothing scored, after 50 turns of a player. Most points win the game, which ends when a
  score reaches 100, or after 100 deals.

The house rules are fields of the rules, given with `overrides` or a file of rules: several melds in a turn
(`melds_per_turn`), lay-offs only after a meld of one's own (`layoff_needs_own_meld`), going rummy (`going_rummy`), the ace high
or round the corner (`ace`), jokers and wild 2s, two packs, buying, how the stock is renewed, and how deals and games are scored
and end. `rules="basic_modern"` and `rules="block"` are presets; `rummy_env.rules.Rules` names the fields.

## Observation
What a seat may know, for any seat and at any time: its own hand, the discards, the melds and what they accept, what the
others have been seen to take and have discarded, hand sizes, scores, the phase, and the next cards of a stock that has been
turned over. Seats are relative, the own first; with fewer than six players the rest is zero.
`rummy_env.observation.layout(rules)` names every entry and its scale, `rummy_env.observation.decode(rules, vector)` reads a
vector back. `state()` is the full table with all hidden cards, see `rummy_env.single.state_layout`.

The mask is exact and non-zero only for the agent to act. When the episode has ended all masks are ones.

## Actions
The moves of `rummy_env.moves.move_table(rules)`, in a fixed order; its `text(action)` writes one out. With the default rules:

| actions | what | example |
|---|---|---|
| 0 and 1 | draw | `stock`, `take` |
| 2 to 97 | lay a meld of three cards: 52 groups, 44 runs | `lay G7 7c7d7h`, `lay R5s 5s6s7s` |
| 98 to 149 | lay a card off on a group | `off 7d G` |
| 150 to 229 | lay a card off on a run | `off 4s low`, `off 9s high` |
| 230 to 281 | discard | `discard 7d` |

Larger melds are laid as three cards and extended by lay-offs in the same turn.

## Rewards
`reward="points"`: at the end of each deal, (own points - mean of the others' points) / 100; they sum to zero. `"rank"`: at
the end of the game from 1 for the first place to -1 for the last, tied seats the mean of their places; sum zero. `"win"`:
at the end of the game 1, shared by equal winners. An illegal action ends the episode of `env()` with -1 for its agent; of
`raw_env()` it raises ValueError and changes nothing.

## Episodes
An episode is a game of several deals, or one deal (`rounds="random"`). It terminates for all agents together. It is truncated
only after `max_moves` moves, where that is given. The step that ends a deal puts `last_round` (its number, its end, the
points) into every agent's info, the last one also `scores`.

## Arguments
`players=4`, `rules="basic"`, `overrides=None`, `rounds=None`, `reward="points"`, `render_mode=None` ("ansi" for the text of the
table with all hands, "human" to print it at every step), `max_moves=None` (also called `max_cycles`).

`reset(seed, options)` takes these options: `round` (the number of the deal that comes first), `dealer` (a seat), `scores`
(one for each seat), or a `position` to go on from, a JSON object as `Game.position()` gives it. A seed touches the
generator only; without one the generator goes on. An environment that is copied or pickled keeps the game it is in.

## Version history
* v0: the first.
"""

from __future__ import annotations

from typing import Any

from rummy_env import aec
from rummy_env.episode import RulesLike


def env(**kwargs: Any) -> Any:
    """The environment with PettingZoo's usual wrappers: an illegal move ends the episode with a reward of -1."""
    return aec.wrapped(raw_env(**kwargs))


class raw_env(aec.raw_env):
    """The environment without wrappers."""

    metadata: dict[str, Any] = {**aec.raw_env.metadata, "name": "basic_v0"}

    def __init__(self, players: int = 4, rules: RulesLike = "basic", **kwargs: Any):
        super().__init__(players, rules, **kwargs)
