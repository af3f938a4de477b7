"""The figures, tables and claims of published papers, from our own packets.

``papers/`` says what is run and drawn and which claims are tested (see ``docs/reproducing.md``);
nothing here knows a paper. The way of a figure: ``figures`` and ``claims`` read the files,
``plan`` makes the runs and reduces them to the numbers that are needed (``metrics``, ``series``,
``data``), ``judging`` gives claims their ``verdicts`` and ``drawing`` draws panels, both from those
numbers alone, ``pages`` writes it all down.
"""
