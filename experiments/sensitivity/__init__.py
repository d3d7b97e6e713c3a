"""What every number in the core is worth: halve it, double it, and see which claims change."""
