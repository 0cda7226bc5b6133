"""The tables and figures of Chowdhury, Drineas, Woodruff & Zhou (2020), one module each; docs/paper.md shows them."""
