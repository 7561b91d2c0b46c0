"""One function for one event: the policy decides, ``move()`` moves, the ledger records. Nothing else moves a state."""
