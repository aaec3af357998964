"""Tables as other engines plan on them, each in a module that only its users load."""
