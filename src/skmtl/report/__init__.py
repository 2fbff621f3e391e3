"""The report: what a fitted estimator has learned, as a dictionary and as a page to read."""

from skmtl.report.folder import render_again, save_results
from skmtl.report.page import render
from skmtl.report.sentences import read_aloud
from skmtl.report.summary import summarize

__all__ = ["read_aloud", "render", "render_again", "save_results", "summarize"]
