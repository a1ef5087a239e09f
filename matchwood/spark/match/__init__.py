"""Events of a DataFrame to their rules: plan, task, answer."""
