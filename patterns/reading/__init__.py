"""From text to syntax trees: ``grammar`` makes the parser, ``parse`` runs it and builds the trees.

``declarations``, ``items``, ``terms`` and ``expressions`` build those of their kind,
``syntax_errors`` says in the language's own words what does not fit, ``files`` reads from disk and
keeps what was parsed in ``cache``.
"""
