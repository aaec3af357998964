"""The timeline's file formats: names of instants, and what commits and table services record."""
