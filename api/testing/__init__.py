"""Tests of rules: what must be equivalent, random quantized models, rules verified on graphs of their own.

Needs the extra `verify` (hypothesis, onnxruntime).
"""
