"""From a question and a table to tasks. No data file is opened."""
