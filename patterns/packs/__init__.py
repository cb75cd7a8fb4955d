"""Packs: ``find`` knows where they are, ``layer`` reads one, ``merge`` lays children over parents.

``pack`` is what comes out, ``options`` its settings, ``phases`` and ``specificity`` the order of
its rules, ``declared_ops`` the schemas of its custom ops.  ``load`` does it all.
"""
