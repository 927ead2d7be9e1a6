"""The version of medfact."""

VERSION = "0.2.0"
