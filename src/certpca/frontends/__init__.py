"""How users ask: command line, scikit-learn estimators, reports and plots. No numerics."""
