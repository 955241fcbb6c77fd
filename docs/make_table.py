"""Draw `docs/table.svg`: a table in the middle of a seeded game, as the text renderer writes it.

python docs/make_table.py
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rummy_env import Game, make_player
from rummy_env.render.text import table_text

PICTURE = Path(__file__).with_name("table.svg")
SEED = 6
ROUND = 2
MELDS = 5
"""The game is played until so many melds lie on the table and somebody is asked to play."""

CARDS = {"c": "#ffffff", "d": "#ff8080", "h": "#ff8080", "s": "#ffffff", "*": "#ffd75f"}

# rich's own frame, without the font that it would load from elsewhere
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
  xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def game() -> Game:
    """Four greedy players in the second round of International, stopped as `MELDS` says."""
    table = Game("international", players=4, seed=SEED, rounds=[ROUND])
    greedy = make_player("greedy", table.rules)
    while table.phase != "play" or table.state.num_melds < MELDS:
        table.play(greedy.act(table.view(table.seat), table.mask()))
    return table


def coloured(text: str) -> Text:
    """The text with its cards in colour."""
    found = Text(text)
    found.highlight_regex(r"(?m)^.*round \d.*$", "bold")
    found.highlight_regex(r"(?m)^> player \d", "bold #87d787")
    for match in re.finditer(r"(?<!\w)(?:[GR][2-9TJQKA][cdhs]? )?((?:[2-9TJQKA][cdhs]|\*\*)+)(?!\w)", text):
        start, end = match.span(1)
        for at in range(start, end, 2):
            found.stylize(CARDS[text[at + 1]], at, at + 2)
    return found


def picture() -> str:
    """The SVG."""
    table = game()
    console = Console(record=True, width=94, file=StringIO())
    console.print(coloured(table_text(table.rules, table.state)))
    title = f'Game("international", players=4, seed={SEED}, rounds=[{ROUND}])'
    return console.export_svg(title=title, code_format=FRAME, unique_id="table")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")
