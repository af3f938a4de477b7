"""The verbs of the command line, one module each.

A verb imports what it needs when it runs: Arrow, NumPy and Rich take longer than an answer to
``--help``.
"""
