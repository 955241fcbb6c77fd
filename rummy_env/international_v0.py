"""International Rummy (contract rummy with buying) for 2 to 6 players, as a PettingZoo environment.

```python
from rummy_env import international_v0

env = international_v0.env(players=4)
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    action = None if termination or truncation else env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
```

| | |
|---|---|
| Import | `from rummy_env import international_v0`, or `pettingzoo.make("aec", "rummy_env/international-v0")` |
| Agents | 2 to 6, `player_0` to `player_5` clockwise |
| Parallel API | no: agents act one after another |
| Action | `Discrete(1141)`, with a mask |
| Observation | `{"observation": Box(0, 1, (1223,), float32), "action_mask": Box(0, 1, (1141,), int8)}` |
| State | `Box(0, 1, (1664,), float32)` |

## Description
Rummy over seven rounds, each with a contract of groups and runs that a player must lay down whole before anything else.
Two packs are used, every 2 is wild, and whoever wants the top discard out of turn may buy it. Nobody sees the other hands
or the stock.

## Rules
A group is three or more cards of a rank, a run four or more of a suit in order, the ace high. Wilds stand for any card, but
a meld needs a natural when it is laid. The contracts: two groups; a group and a run; two runs; three groups; two groups and
a run; a group and two runs; three runs. Ten cards are dealt, from the fifth round on twelve.

- The top discard is offered first to the player whose turn comes, who may `take` it as the draw or `pass`, then clockwise
  to the others, who may `buy` it with one more card from the stock, or `pass`.
- A turn: draw from the `stock` or take the discard; `lay` the contract, meld by meld, if the hand holds it; in later turns
  lay single cards `off` on any meld; `discard`. The card taken in a turn may not be discarded in it.
- A round ends when somebody has no card left. The others are charged the cards in their hands: ace and wilds 15, king to
  ten 10, the rest their number. It also ends, all charged, when nobody can go on, or after 50 turns of a player. The fewest
  points win the game.

Everything about the rules can be changed with `overrides`: `rummy_env.rules.Rules` names the fields.

## Observation
What a seat may know, for any seat and at any time: its own hand, the discards, the melds and what they accept, what the
others have been seen to take and have discarded, hand sizes, scores, the contract, the phase. Seats are relative, the own
first; with fewer than six players the rest is zero. `rummy_env.observation.layout(rules)` names every entry and its scale,
`rummy_env.observation.decode(rules, vector)` reads a vector back. `state()` is the full table with all hidden cards, see
`rummy_env.single.state_layout`.

The mask is exact and non-zero only for the agent to act. When the episode has ended all masks are ones.

## Actions
The moves of `rummy_env.moves.move_table(rules)`, in a fixed order; its `text(action)` writes one out:

| actions | what | example |
|---|---|---|
| 0 to 3 | draw, take, answer in a buy window | `stock`, `take`, `buy`, `pass` |
| 4 to 903 | lay a meld of the contract: 360 groups, 540 runs | `lay G7 7c7h**`, `lay R5s 5s**7s8s` |
| 904 to 963 | lay a card off on a group: naturals, then wilds | `off 7d G`, `off ** G7` |
| 964 to 1091 | lay a card off on a run: naturals, then wilds | `off 4s low`, `off ** high 9s` |
| 1092 to 1140 | discard | `discard 7d` |

## Rewards
`reward="points"`: at the end of each round, (mean of the others' points - own points) / 100; they sum to zero. `"rank"`: at
the end of the game from 1 for the first place to -1 for the last, tied seats the mean of their places; sum zero. `"win"`:
at the end of the game 1, shared by equal winners. An illegal action ends the episode of `env()` with -1 for its agent; of
`raw_env()` it raises ValueError and changes nothing.

## Episodes
An episode is a game: all seven rounds, those given (`rounds=[3]`), or one drawn at each reset (`rounds="random"`). It
terminates for all agents together. It is truncated only after `max_moves` moves, where that is given. The step that ends a
round puts `last_round` (its number, its end, the points) into every agent's info, the last one also `scores`.

## Arguments
`players=4`, `rules="international"`, `overrides=None`, `rounds=None`, `reward="points"`, `render_mode=None` ("ansi" for the
text of the table with all hands, "human" to print it at every step), `max_moves=None` (also called `max_cycles`).

`reset(seed, options)` takes these options: `round` (the one played, with all rounds the first), `dealer` (a seat), `scores`
(one for each seat), or a `position` to go on from, a JSON object as `Game.position()` gives it. A seed touches the
generator only; without one the generator goes on. An environment that is copied or pickled keeps the game it is in.

## Version history
* v0: the first.
"""

from __future__ import annotations

from typing import Any

from rummy_env import aec


def env(**kwargs: Any) -> Any:
    """The environment with PettingZoo's usual wrappers: an illegal move ends the episode with a reward of -1."""
    return aec.wrapped(raw_env(**kwargs))


class raw_env(aec.raw_env):
    """The environment without wrappers."""

    metadata: dict[str, Any] = {**aec.raw_env.metadata, "name": "international_v0"}
