"""Edits of a graph view: ``replace`` commits what a rule wants, whole or not at all.

``place`` and ``order`` find positions for new nodes, ``links`` keeps producers and uses true,
``forward`` hands uses to another value, ``dead`` finds what nobody reads; a ``change`` can be taken
back, and ``invariants`` says what must hold at any time.
"""
