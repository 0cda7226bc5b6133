"""What users ask for, a file for each verb; the only place that orchestrates."""
