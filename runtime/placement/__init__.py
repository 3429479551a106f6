"""Where gangs go: functions that read the books and leave them as they are."""
