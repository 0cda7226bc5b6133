"""What people look at: tables, progress and plots. No numerics here."""
