"""The one form of a rule file: ``format`` sets ``lines`` of each statement from its ``tokens``."""
