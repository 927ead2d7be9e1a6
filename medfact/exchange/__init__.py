"""A run as a file, from one database to another."""

from medfact.exchange.transfer import export_run, import_run

__all__ = ["export_run", "import_run"]
