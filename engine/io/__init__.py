"""Models from files and messages, and back: see ``models``.

``build`` makes the view of a ModelProto and ``emit`` writes back what changed; ``external``,
``data_files`` and ``relocate`` leave the content of large tensors to the operating system.
"""
