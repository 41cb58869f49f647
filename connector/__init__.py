"""Discord on one side, engines on the other."""
