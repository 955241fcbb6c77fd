"""Write `docs/observation.md` from `rummy_env.observation.layout`.

python docs/make_observation.py
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rummy_env import layout, preset
from rummy_env.observation import FEATURES, Block, Layout

PAGE = Path(__file__).with_name("observation.md")
LONG = 8
"""More blocks of one form than this are not all shown."""

HEAD = """# Observation

Made by `docs/make_observation.py` from `rummy_env.layout`; do not edit.

An observation of International's default rules is a float32 vector of {size} numbers from 0 to 1. It holds what one seat may
know and nothing else, and has the same shape for 2 to 6 players. Seats are relative: 0 is the seat that observes, then
clockwise; the blocks of seats that are not at the table are zero. An entry is a whole number divided by its scale, and numbers
above the scale are cut off. Where a block counts cards, the scale is the number of copies in the pack.

`rummy_env.layout(rules)` gives the same for any rules, `rummy_env.decode(rules, vector)` reads a vector back:

```python
from rummy_env import Game, decode

game = Game("international", players=3, seed=1)
found = decode(game.rules, game.observation(game.seat))
print(found["hand"], found["contract"], found["phase"])
```

## Blocks
"""

OPTIONAL = """
## With `features=("{name}",)`

{size} numbers more, after the others:

"""


BASIC = """
## Basic Rummy

With the default rules of Basic Rummy the vector has {size} numbers. The blocks are the same, without the wild card, but for one
series: the next cards of a stock that has been turned over, and so is known to everybody. `contract` and `contract_left` are
zero, as melds are free. Where most points win, `behind` is how many points a score lies below the highest one.

"""


NAMES = """
## Names of the entries

In the order of International's vector. The last name of a block of cards, `**`, is any wild card. Of a seat, `behind` is how
many points its score lies above the lowest one.

"""


def scale_text(block: Block) -> str:
    """The scales of a block, from the least to the most."""
    least, most = min(block.scales), max(block.scales)
    return str(least) if least == most else f"{least} to {most}"


def block_table(blocks: list[Block]) -> str:
    """A table of blocks; a long series of blocks of one form is shown by its first and its last."""
    rows = ["| block | entries | divided by | what |", "|---|---|---|---|"]
    series = Counter(re.sub(r"\d+", "", block.name) for block in blocks)
    for before, block, after in zip([None, *blocks], blocks, [*blocks[1:], None], strict=False):
        name = re.sub(r"\d+", "", block.name)
        if series[name] > LONG and all(other and other.name.startswith(name) for other in (before, after)):
            if before and before.name == f"{name}0":
                rows.append("| ... | | | |")
            continue
        entries = str(block.start) if block.size == 1 else f"{block.start} to {block.stop - 1}"
        rows.append(f"| `{block.name}` | {entries} | {scale_text(block)} | {block.meaning} |")
    return "\n".join(rows) + "\n"


def label_table(shape: Layout) -> str:
    """The names of the entries, once for blocks that share them."""
    found: dict[tuple[str, ...], list[str]] = {}
    for block in shape.blocks:
        found.setdefault(block.labels, []).append(block.name)
    lines = []
    for labels, names in found.items():
        shown = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` and {len(names) - 1} more"
        lines.append(f"* {shown} ({len(labels)}): {' '.join(f'`{label}`' for label in labels)}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    rules = preset("international")
    plain = layout(rules)
    text = HEAD.format(size=plain.size) + "\n" + block_table(list(plain.blocks))
    for name in FEATURES:
        shape = layout(rules, (name,))
        text += OPTIONAL.format(name=name, size=shape.size - plain.size)
        text += block_table(list(shape.blocks[len(plain.blocks) :]))
    basic, known = layout(preset("basic")), {block.name for block in plain.blocks}
    text += BASIC.format(size=basic.size) + block_table([block for block in basic.blocks if block.name not in known])
    return text + NAMES + label_table(layout(rules, FEATURES))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
