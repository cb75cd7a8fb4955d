"""Rules applied to a model: ``fixpoint`` drives a ``worklist`` until no rule matches any more."""
