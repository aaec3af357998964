"""The folder on the path of this source's Python processes; see `session.register_source`."""
