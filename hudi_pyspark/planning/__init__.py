"""Turn a query and a table into tasks, without opening a data file."""
