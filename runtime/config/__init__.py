"""HiveD's configuration file: read, checked as a whole, and turned into values."""

from runtime.config.model import CellSpec, Chain, Configuration, ForestSpec, Quota, Settings, TenantSpec
from runtime.config.read import configuration, read_configuration
from runtime.config.source import read_text

__all__ = [
    "CellSpec",
    "Chain",
    "Configuration",
    "ForestSpec",
    "Quota",
    "Settings",
    "TenantSpec",
    "configuration",
    "read_configuration",
    "read_text",
]
