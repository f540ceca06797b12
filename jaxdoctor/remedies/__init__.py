"""Small tools to import as the cure: each rule page points to one."""
