"""HiveD's configuration file, as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.config.chains import read_chains
from runtime.config.model import Configuration, Settings
from runtime.config.physical import read_forests
from runtime.config.quota import check_quota
from runtime.config.reader import NOTHING, Reader
from runtime.config.source import Value, read_object, read_text
from runtime.config.tenants import read_tenants
from runtime.errors import ConfigurationError, Problem

KEYS = (
    "kubeApiServerAddress",
    "kubeConfigFilePath",
    "webServerAddress",
    "forcePodBindThreshold",
    "waitingPodSchedulingBlockMilliSec",
    "physicalCluster",
    "virtualClusters",
)


def read_configuration(source: str | Path | Mapping[str, object]) -> Configuration:
    """From a path or a mapping; raises `ConfigurationError` with everything that is wrong."""
    if isinstance(source, Mapping):
        return configuration(read_object(source))
    try:
        text = Path(source).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            [Problem(str(source), None, f"cannot be read: {getattr(error, 'strerror', None) or error}")]
        ) from error
    return configuration(read_text(text))


def configuration(document: Value) -> Configuration:
    """The configuration that a document says."""
    reader = Reader()
    top = reader.table(document, "", KEYS)
    physical = reader.table(
        top.get("physicalCluster", NOTHING), "physicalCluster", ("skuTypes", "cellTypes", "physicalCells")
    )
    chains = read_chains(reader, physical.get("cellTypes", NOTHING), "physicalCluster.cellTypes")
    cells = physical.get("physicalCells", NOTHING)
    forests = read_forests(reader, cells, "physicalCluster.physicalCells", chains)
    if not forests and not reader.problems:
        advice = "list the cells of the cluster; an empty file is not a configuration"
        reader.wrong("physicalCluster.physicalCells", cells, "has no cells", advice)
    tenants = read_tenants(reader, top.get("virtualClusters", NOTHING), "virtualClusters", forests)
    settings = _settings(reader, top)
    reader.finish()
    check_quota(reader, top.get("virtualClusters", NOTHING), forests, tenants)
    reader.finish()
    return Configuration(forests, tenants, settings, tuple(reader.notes))


def _settings(reader: Reader, top: Mapping[str, Value]) -> Settings:
    def number(key: str, default: int) -> int:
        return reader.number(top.get(key, NOTHING), key, least=0, default=default)

    return Settings(
        kube_api_server=reader.text(top.get("kubeApiServerAddress", NOTHING), "kubeApiServerAddress"),
        kube_config=reader.text(top.get("kubeConfigFilePath", NOTHING), "kubeConfigFilePath"),
        web_server=reader.text(top.get("webServerAddress", NOTHING), "webServerAddress") or Settings().web_server,
        force_bind_threshold=number("forcePodBindThreshold", 3),
        waiting_block_milliseconds=number("waitingPodSchedulingBlockMilliSec", 0),
    )
