"""The version of the package; set by a release."""

__version__ = "0.1.0.dev0"
