"""The style sheet of the demo's report: one column, light and dark, tables that fold into cards on a narrow screen.

Colors are variables, so the pictures (inline SVG, which refers to the classes below) follow the reader's scheme too.
"""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6571; --line: #dfe3e8; --accent: #0b6e99; --warm: #b3402a;
  --paper: #fbfbf9; --card: #fff; --good: #24713f; --band: #f6e3de; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #a3adb9; --line: #39414c; --accent: #58b4dd;
  --warm: #f08a74; --paper: #14181d; --card: #1d232b; --good: #6cc58b; --band: #46302c; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 2.5rem 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p.lead { color: var(--soft); margin: 0 0 1rem; } .pass { color: var(--good); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; font-size: .88rem; }
dt { color: var(--soft); } dd { margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: .8rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.5rem; } .tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line);
  font-size: .88rem; margin: 0 0 1rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n { font-variant-numeric: tabular-nums; } td.ok { color: var(--good); }
th, td.n, td[data-name=api], td[data-name=listener] { overflow-wrap: normal; }
figure { margin: 0 0 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem; }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .4rem; }
svg { display: block; width: 100%; max-width: 46rem; height: auto; font-family: system-ui, sans-serif; }
.ink { fill: var(--ink); } .soft { fill: var(--soft); } .accent { fill: var(--accent); } .warm { fill: var(--warm); }
.band { fill: var(--band); } .box { fill: var(--card); stroke: var(--soft); } .grid { stroke: var(--line); }
.path { stroke: var(--soft); stroke-dasharray: 5 5; } .swapped { stroke: var(--warm); stroke-width: 2.5; }
@media (max-width: 48rem) {
  body { padding: 1.2rem 1rem 2rem; } figure { padding: .6rem; } .tiles { grid-template-columns: repeat(2, 1fr); }
  table, tbody, tr, td { display: block; } tr.head { display: none; } tr { border-bottom: 2px solid var(--line); }
  td { border: 0; padding: .1rem .6rem; display: grid; grid-template-columns: 7rem 1fr; gap: .6rem; }
  td::before { content: attr(data-name); color: var(--soft); }
}
"""
