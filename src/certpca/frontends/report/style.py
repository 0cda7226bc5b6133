"""The style sheet of the page: light and dark, screen, phone and paper. Drawings take their colours from it."""

from certpca.plots.palette import DARK, LIGHT, variables

PRINTED = {**LIGHT, "ink": "#000", "soft": "#444", "line": "#ccc"}

COLOURS = f"""
:root{{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--good:#007a5a;--bad:#b3261e;{variables(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{--ground:#15181c;--card:#1e2329;--good:#3fc79a;--bad:#ff8a80;
{variables(DARK)}}}}}
@media print{{:root{{color-scheme:light;
--ground:#fff;--card:#f6f7f9;--good:#00664b;--bad:#b3261e;{variables(PRINTED)}}}}}
"""

STYLE = (
    COLOURS
    + """*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif}
main,footer{max-width:112rem;margin:0 auto;padding:0 clamp(1.25rem,3vw,3rem)}
section>p,.verdict,.turn>p{max-width:78ch}
main{padding-top:2rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;line-height:1.3;margin:2.25rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
p{margin:.5rem 0;overflow-wrap:anywhere}
.subtitle,.note,footer,figcaption,caption{color:var(--soft)}
.note,footer,figcaption,caption{font-size:.875rem}
.verdict{margin:1.25rem 0;padding:1rem 1.25rem;background:var(--card);border-left:5px solid var(--soft);
border-radius:0 6px 6px 0}
.verdict .badge{display:inline-block;margin:0;font-size:.875rem;font-weight:600;color:var(--soft)}
.verdict .headline{font-size:1.2rem;line-height:1.4;font-weight:600;margin:.25rem 0 .5rem}
.verdict .standing{margin:0;font-size:.875rem;color:var(--soft)}
.optimal,.gap{border-left-color:var(--good)}.optimal .badge,.gap .badge{color:var(--good)}
.refused{border-left-color:var(--bad)}.refused .badge{color:var(--bad)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.75rem;margin:1.25rem 0;padding:0}
.figures div{background:var(--card);border-radius:6px;padding:.75rem 1rem}
.figures dt{font-size:.8125rem;line-height:1.35;color:var(--soft)}
.figures dd{margin:0;font-size:1.375rem;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.figures div{display:flex;flex-direction:column-reverse;justify-content:flex-end}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;padding-bottom:.4rem}
.table{display:inline-block;vertical-align:top;max-width:100%;margin:.5rem 0}.scroll{overflow-x:auto}
.plain th,.plain td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);font-weight:400}
.plain thead th{color:var(--soft);font-size:.875rem;vertical-align:bottom}
.plain .text{text-align:left;overflow-wrap:anywhere;min-width:7rem}
.bars{width:100%;max-width:72rem;table-layout:fixed}
.bars th,.bars td{padding:.12rem 0;vertical-align:middle}
.bars th{width:30%;text-align:right;font-weight:400;font-size:.875rem;line-height:1.25;padding-right:.6rem;
overflow-wrap:anywhere}
.bars.short th{width:7.5rem}
.bars .value{width:4.6rem;text-align:right;font-size:.875rem}
.bars .mark{width:1.4rem;text-align:right;color:var(--good)}
.bars svg{display:block;width:100%;height:1.1rem}
.plus{fill:var(--found)}.minus{fill:var(--proved)}.zero{stroke:var(--soft);stroke-width:1;vector-effect:non-scaling-stroke}
.facts{display:grid;grid-template-columns:minmax(9rem,14rem) 1fr;gap:.3rem 1.25rem;margin:.75rem 0}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
figure{display:inline-block;vertical-align:top;margin:1rem 0;width:min(100%,40rem)}
@media (min-width:60rem){figure,.table{padding-right:2rem}}
.chart{display:block;width:100%;height:auto;font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
.chart,.key{stroke-linejoin:round;stroke-linecap:butt}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.25rem 0;padding:0;font-size:.875rem}
.legend li{display:flex;align-items:center;gap:.4rem;overflow-wrap:anywhere}
.key{width:22px;height:12px;flex:none}
pre{background:var(--card);border-radius:6px;padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;
font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
a{color:var(--found);text-decoration:underline dotted;text-underline-offset:.15em}
.tools{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:.5rem 0}
.tools input,.tools button{font:inherit;font-size:.875rem;padding:.2rem .6rem;color:inherit;background:var(--card);
border:1px solid var(--line);border-radius:5px}
.tools input{min-width:0;width:14rem}.tools button{cursor:pointer}.tools button:hover{border-color:var(--found)}
.tools .count{font-size:.875rem;color:var(--soft)}
.sort{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
.sort:hover,.sort:focus-visible{color:var(--found)}
[aria-sort=ascending] .sort::after{content:" ▲"}[aria-sort=descending] .sort::after{content:" ▼"}
.slide{display:flex;flex-wrap:wrap;gap:.75rem;align-items:center;margin:1rem 0 .5rem}
.slide input{flex:1;min-width:8rem;max-width:32rem;accent-color:var(--found)}
.slide output{font-weight:600;font-variant-numeric:tabular-nums}
[hidden]{display:none!important}
summary{cursor:pointer;margin:.75rem 0;color:var(--found)}
footer{margin-top:2.5rem;padding-top:.75rem;padding-bottom:2rem;border-top:1px solid var(--line)}
@media (max-width:36rem){main,footer{padding-left:1rem;padding-right:1rem}main{padding-top:1.25rem}
h1{font-size:1.4rem}.verdict .headline{font-size:1.0625rem}.figures{grid-template-columns:1fr 1fr}
.figures dd{font-size:1.125rem}.figures div{padding:.6rem .75rem}
.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.5rem}.bars th{width:36%}.bars.short th{width:6.5rem}
.plain{font-size:.875rem}.plain th,.plain td{padding-right:.6rem}.chart{font-size:13px}}
@media print{@page{margin:18mm 16mm}
html{font-size:10pt}main,footer{max-width:none;padding:0}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
h2{break-after:avoid}figure,.verdict,.figures,.facts,tr,pre{break-inside:avoid}
.figures{grid-template-columns:repeat(4,1fr)}.facts{grid-template-columns:13rem 1fr;gap:.2rem 1.25rem}
thead{display:table-header-group}details:not([open]){display:none}figure{width:11.5cm;max-width:100%}.tools,.slide{display:none}a{color:inherit;text-decoration:none}.sort::after{content:none!important}
h2{margin-top:1.5rem}p{orphans:3;widows:3}}
"""
)
