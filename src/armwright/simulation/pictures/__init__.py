"""Recordings as pictures: plots, films and pages."""
