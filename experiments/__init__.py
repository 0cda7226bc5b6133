"""Every table and figure of the paper and of these docs, one module each; `python -m experiments` makes them all.

A module says `TITLE` (one line), `NEEDS` (folders of the data beside the checkout, or none) and, where it reads files
that users bring, `FILES` (names of options). `compute(run)` returns numbers that JSON can hold, `render(result)` turns
these, and nothing else, into pages and pictures under docs/. Long computations go through `run.part`, which keeps what
was computed when a run is interrupted; a module that also says `jobs(quick)` and `do(run, name)` has them computed side
by side (`parallel`).
"""
