"""Why a rule does not match: a second, slow interpreter of the steps that matchers are made of.

``anchored`` are the steps of a pattern from any of its nodes, ``interpreter`` takes them one by
one, ``closest`` finds the rule that came furthest, and ``cause`` says what stood in its way.
The fast matchers know nothing of it.
"""
