"""Where plots are drawn: on axes of the caller, in a window, or into a file."""

import io
import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from pathlib import PurePath
from typing import Any

from certpca.plots import kinds
from certpca.plots.palette import STYLE
from certpca.runtime.atomic_write import write_bytes_whole
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import DataFileError, InvalidProblemError

SIZE = (6.4, 4.0)  # inches
DOTS = 150  # per inch
NO_SETTINGS: Mapping[Any, Any] = {}


def plots() -> dict[str, Any]:
    """Return the modules of all plots by name."""
    return {
        found.name: import_module(f"{kinds.__name__}.{found.name}") for found in pkgutil.iter_modules(kinds.__path__)
    }


def draw(name: str, *values: Any, ax: Any = None, **settings: Any) -> Any:
    """Draw a plot on axes, or on new ones of pyplot, and return them."""
    known = plots()
    if name not in known:
        msg = f"plot must be one of {', '.join(known)}, got {name!r}"
        raise InvalidProblemError(msg)
    taken = list(signature(known[name].draw).parameters)[1:]
    for setting in settings:
        if setting not in taken:
            msg = f"the plot {name} has no setting {setting!r}{did_you_mean(setting, taken)}"
            raise InvalidProblemError(msg)
    if ax is None:
        from matplotlib import pyplot

        size = SIZE[0], max(SIZE[1], height_of(name, *values, **settings))
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
        ax.grid(alpha=0.3)
    known[name].draw(ax, *values, **settings)
    return ax


def height_of(name: str, *values: Any, **settings: Any) -> float:
    """Return the inches that a plot needs from top to bottom, where it says so, and 0 where any will do."""
    needed = getattr(plots().get(name), "height", None)
    return 0.0 if needed is None else float(needed(*values, **settings))


def save(file: str, name: str, *values: Any, **settings: Any) -> None:
    """Draw a plot into a file, whole or not at all; its ending says the format."""
    from matplotlib.figure import Figure  # without pyplot, so that no window system is asked for

    with styled():
        size = SIZE[0], max(SIZE[1], height_of(name, *values, **settings))
        figure = Figure(figsize=size, layout="constrained")
        draw(name, *values, ax=figure.subplots(), **settings)
        save_figure(figure, file, PurePath(file).suffix[1:].lower() or "png")


def save_figure(figure: Any, file: str | PurePath, form: str) -> None:
    """Write a figure whole or not at all."""
    stream = io.BytesIO()
    figure.savefig(stream, format=form, dpi=DOTS)
    write_bytes_whole(str(file), lambda target: target.write(stream.getvalue()))


@contextmanager
def styled(settings: Mapping[Any, Any] = NO_SETTINGS) -> Iterator[None]:
    """Draw in the colours of this library, whatever the user's settings, and names in any script."""
    from matplotlib import rc_context, rcParamsDefault

    with warnings.catch_warnings(), rc_context(rcParamsDefault):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box is drawn in its place
        with rc_context({**STYLE, **settings}):
            yield


def require_drawable(file: str) -> None:
    """Find out before the work that the ending of a file says no format a figure can have."""
    from matplotlib.backend_bases import FigureCanvasBase

    ending = PurePath(file).suffix[1:].lower()
    if ending and ending not in FigureCanvasBase.filetypes:
        known = ", ".join(sorted(FigureCanvasBase.filetypes))
        msg = f"the figure cannot be written to {file}: Format {ending!r} is not supported (supported formats: {known})"
        raise DataFileError(msg)
