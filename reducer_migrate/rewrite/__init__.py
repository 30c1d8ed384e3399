"""From the findings of a reducer to text edits: plan, transform with libcst, diff, verify."""
