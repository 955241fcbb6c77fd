"""The rules as kernels on records: deal, legal, apply, score, view."""
