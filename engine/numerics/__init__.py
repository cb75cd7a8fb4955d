"""Arithmetic in numpy: ``quantization``, single ops, both sides of a rewrite in ``evaluate``."""
