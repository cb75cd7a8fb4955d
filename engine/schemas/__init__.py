"""Operator schemas as plain data: ``known`` gives that of an op at an opset version."""
