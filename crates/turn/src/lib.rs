//! Pure: the steps of one turn and their budgets.
