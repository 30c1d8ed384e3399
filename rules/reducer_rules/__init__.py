"""The semantic model of TileLang reducers and the catalogue of rules over it.

A front end (Python source in `reducer_migrate`, TIR in `reducer_compat`) describes each
reducer as a `Timeline`; a rule reads timelines and yields findings. The package knows
neither syntax trees nor TVM and depends on the standard library alone.
"""

from reducer_rules.monoid import Op
from reducer_rules.release import Release
from reducer_rules.rule import Finding, Fix, Rule, Severity, Target
from reducer_rules.timeline import Timeline

__all__ = ["Finding", "Fix", "Op", "Release", "Rule", "Severity", "Target", "Timeline"]
