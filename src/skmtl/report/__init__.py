"""The report: what a fitted estimator has learned, as a dictionary and as a page to read."""

from skmtl.report.page import render
from skmtl.report.summary import summarise

__all__ = ["render", "summarise"]
