"""Trees of two kinds that bound the same matrix take turns until it is clear which of them makes more of the time.

Cells of counts tell supports apart, regions tell directions of sample space apart. Which of them closes a gap sooner
depends on the data, and nothing cheap foretells it; both show it soon.
"""
