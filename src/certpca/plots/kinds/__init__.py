"""The plots, a file each, found by themselves: `draw` takes axes and what is to be drawn on them."""
