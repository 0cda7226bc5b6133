"""One module for each table or figure: `compute()` makes the numbers, `render()` the artefact."""
