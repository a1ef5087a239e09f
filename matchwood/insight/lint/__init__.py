"""`index.lint()`: rules that are never or always true, repeat another, or are implied by one."""
