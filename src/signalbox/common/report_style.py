"""The style sheet of all HTML reports: one column, light and dark, tables that fold into cards on a narrow screen.

Colors are variables, so that pictures (inline SVG, which refers to the classes below) follow the reader's scheme too. A
report adds rules only for what no other report has. A table folds if its head is a row of the class `head` and each of
its cells names its column in `data-name`; `class='n'` is a column of numbers.
"""

from __future__ import annotations

REPORT_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6571; --line: #dfe3e8; --accent: #0b6e99; --warm: #b3402a;
  --good: #24713f; --unsure: #8a5a00; --band: #f6e3de; --paper: #fbfbf9; --card: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #a3adb9; --line: #39414c; --accent: #58b4dd;
  --warm: #f08a74; --good: #6cc58b; --unsure: #e0b050; --band: #46302c; --paper: #14181d; --card: #1d232b; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 62rem; padding: 2.5rem 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p { margin: 0 0 1rem; } .soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; margin: 0 0 1rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.5rem; } .tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line);
  font-size: .88rem; margin: 0 0 1rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.ok { color: var(--good); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
th, td.n, td:is([data-name=api], [data-name=error], [data-name=kind], [data-name=listener], [data-name=plane]) {
  overflow-wrap: normal; }
figure { margin: 0 0 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem; }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .4rem; }
svg { display: block; width: 100%; max-width: 46rem; height: auto; font: 12px system-ui, sans-serif; }
svg .ink { fill: var(--ink); } svg .soft { fill: var(--soft); } svg .accent { fill: var(--accent); }
svg .warm { fill: var(--warm); }
@media (max-width: 60rem) {
  body { padding: 1.2rem 1rem 2rem; } figure { padding: .6rem; }
  table, tbody, tr, td { display: block; } tr.head { display: none; } tr { border-bottom: 2px solid var(--line); }
  td, td.n { border: 0; padding: .1rem .6rem; display: grid; grid-template-columns: 7rem 1fr; gap: .6rem;
    text-align: left; }
  td::before { content: attr(data-name); color: var(--soft); }
}
"""
