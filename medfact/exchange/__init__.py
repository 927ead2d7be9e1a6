"""A run as a file: out of one database and into another."""

from medfact.exchange.transfer import export_run, import_run

__all__ = ["export_run", "import_run"]
