"""The report: one HTML file that holds everything, and the figures as files beside it.

`page` puts it together, `front` writes the sentences of the first page, and `tables` the tables of
readings; both are computed from the decisions of the run. `drawing` saves and embeds figures.
"""

from .drawing import alt_text, save_figure
from .page import write_report

__all__ = ["alt_text", "save_figure", "write_report"]
