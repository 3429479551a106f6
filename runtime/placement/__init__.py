"""Where gangs go: functions that read the ledger and do not change it."""
