"""A configuration file that changes while the service runs."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest
import yaml
from clusters import config, nodes
from serving import until

from runtime.service.reload import Reload


def test_only_a_changed_and_right_configuration_ends_the_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, ended = tmp_path / "config.yaml", list[bool]()
    path.write_text(yaml.safe_dump(config(nodes("a"), A={"NODE": 1})))
    reload = Reload(path, lambda: ended.append(True), every=0.01)
    thread = Thread(target=reload.run)
    thread.start()
    path.write_text(yaml.safe_dump(config(nodes("a"), A={"NODE": 2})))
    until(lambda: "configuration is invalid" in caplog.text)
    assert not ended
    path.unlink()
    path.write_text(yaml.safe_dump(config(nodes("a", "b"), A={"NODE": 2})))
    until(lambda: ended)
    thread.join(10)
    assert not thread.is_alive()


def test_it_looks_no_more_when_it_is_stopped(tmp_path: Path) -> None:
    reload = Reload(tmp_path / "none", lambda: None, every=60)
    thread = Thread(target=reload.run)
    thread.start()
    reload.stop()
    thread.join(10)
    assert not thread.is_alive()
