"""The version of the package, which a release sets."""

__version__ = "0.1.0.dev0"
