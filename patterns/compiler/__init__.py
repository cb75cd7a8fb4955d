"""From rules to matchers and rewriters.

``expand`` makes flat patterns of a rule, ``steps`` puts the tests of one in order, ``codegen``
merges the steps of many rules into one Python function, ``template`` writes the function that
builds what a rule puts in place.
"""
