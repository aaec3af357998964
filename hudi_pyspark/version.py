"""The version of the package, which stands here alone; set by a release."""

__version__ = "0.1.0.dev0"
