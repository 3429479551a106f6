"""The service over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from re import sub
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.answers import GangStatus
from runtime.errors import UserError
from runtime.service import failing, questions, status
from runtime.service.access import AccessControl, Permissions
from runtime.service.engine import NotServingError
from runtime.service.fits import Fits
from runtime.service.free_space import what_would_free_space
from runtime.service.guard import Guard, Names
from runtime.service.messages import (
    COMPONENT,
    FilterRequest,
    bind_answer,
    describe,
    filter_answer,
    read_bind,
    read_filter,
    read_preempt,
)
from runtime.service.scheduler import NotYetError
from runtime.service.service import Service
from runtime.service.snapshot_view import SnapshotView
from runtime.service.source import MemorySource, read_change
from runtime.service.why import why

log = logging.getLogger(__name__)

ANY = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
REQUEST_TIMEOUT = 10.0
"""Maximum number of seconds for a body to arrive."""

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Json(Response):
    """An answer as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Compact: trees of cells are long."""
        return json.dumps(content, separators=(",", ":")).encode()


class ErrorInBody(Json):
    """An answer with status 200 that reports an error: a kube-scheduler reads it from the body."""

    def __init__(self, content: Any, status: int) -> None:
        super().__init__(content)
        self.outcome = status
        """The status that another client would get: metrics count this one."""


class FastPath:
    """Serves the requests that are made for every pod directly, without searching all routes."""

    def __init__(self, app: ASGIApp, often: Mapping[str, Handler]) -> None:
        self._app, self._often = app, often

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._often.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await handler(request)
        except HTTPException as error:
            response = await _refused(request, error)
        await response(scope, receive, send)


class Web:
    """The endpoints."""

    def __init__(
        self, service: Service, largest: int, names: Names | None = None, permissions: Permissions | None = None
    ) -> None:
        """`permissions`: of clients; none where everybody may do everything."""
        self.service = service
        self._permissions = permissions
        self._names = names or Names("127.0.0.1")
        self._largest = largest
        self.snapshot_view = SnapshotView(service)
        self._fits = Fits(service)

    def app(self) -> Starlette:
        """All of them."""
        extender: Mapping[str, Handler] = {
            "/v1/extender/filter": self.filter,
            "/v1/extender/preempt": self.preempt,
            "/v1/extender/bind": self.bind,
        }
        paths: Mapping[str, Handler] = {
            "/": self.paths,
            **extender,
            "/v1/inspect/affinitygroups/": self.inspection(self.groups),
            "/v1/inspect/affinitygroups/{name:path}": self.inspection(self.group),
            "/v2/inspect/gangs/": self.inspection(self.full_groups),
            "/v2/inspect/gangs/{name:path}": self.inspection(self.full_group),
            "/v2/inspect/problems": self.inspection(self.problems),
            "/v2/inspect/why/{name:path}": self.why,
            "/v2/inspect/nodes/{name:path}": self.inspection(self.node),
            "/v2/inspect/virtualclusters/": self.inspection(self.quotas),
            "/v2/inspect/virtualclusters/{name:path}": self.inspection(self.quota),
            "/v2/inspect/opportunistic": self.inspection(self.opportunistic),
            "/v2/inspect/fits/": self.all_fits,
            "/v2/inspect/fits/{name:path}": self.fits,
            "/v2/inspect/events": self.inspection(self.events),
            "/v2/inspect/preemptions": self.inspection(self.preemptions),
            "/v2/inspect/usage": self.inspection(self.usage),
            "/v1/inspect/lives/": self.inspection(self.applications),
            "/v1/inspect/lives/{name:path}": self.inspection(self.application),
            "/v1/inspect/clusterstatus": self.inspection(self.cluster),
            "/v1/inspect/clusterstatus/physicalcluster": self.inspection(self.physical),
            "/v1/inspect/clusterstatus/virtualclusters/": self.inspection(self.tenants),
            "/v1/inspect/clusterstatus/virtualclusters/{name}": self.inspection(self.tenant),
            "/metrics": self.metrics,
            "/healthz": self.healthy,
            "/readyz": self.ready,
        }
        if isinstance(self.service.source, MemorySource):
            paths = {**paths, "/v1/simulation/events": self.simulate}
        self._paths = sorted(["/view/", *(sub(r"{.*}", "NAME", path) for path in paths if path != "/")])
        routes = [Route(path, _measured(handler, self.service, path), methods=ANY) for path, handler in paths.items()]
        routes += self.snapshot_view.pages.routes("/view")
        handlers = {HTTPException: _refused, Exception: _failed}
        often = {path: _measured(handler, self.service, path) for path, handler in extender.items()}
        requests = self.service.metrics.requests

        def refused(path: str, status: int) -> None:
            requests.labels(path if path in paths else "other", str(status)).inc()

        guard = Middleware(Guard, names=self._names, on_refusal=refused)
        between = [guard, Middleware(FastPath, often=often)]
        if self._permissions is not None:
            between.insert(1, Middleware(AccessControl, permissions=self._permissions, on_refusal=refused))
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan, middleware=between)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.service.stop)

    async def _body(self, request: Request) -> bytes:
        """As long as it is allowed to be."""
        message = f"a request can have at most {self._largest} bytes"
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._largest:
            raise HTTPException(413, message)
        body = bytearray()
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > self._largest:
                        raise HTTPException(413, message)
        except TimeoutError:
            raise HTTPException(408, f"the request did not arrive in {REQUEST_TIMEOUT:g} seconds") from None
        except ClientDisconnect:
            raise HTTPException(400, "the request ended too early") from None
        return bytes(body)

    # The extender

    async def filter(self, request: Request) -> Response:
        """Which node a pod goes to. The answer has the errors.

        It does not wait for the disk: the place is only reserved, and no pod is there before `bind`, which
        waits. If the reservation is lost together with the power, `bind` refuses, and the pod is filtered again.
        """
        body = await self._body(request)
        arguments: FilterRequest | None = None
        try:
            arguments = checked = read_filter(body)
            return Json(await self.service.ask(lambda scheduler: scheduler.filter(checked), durable=False))
        except NotServingError:
            raise
        except Exception as error:
            return self._not_placed(arguments, error)

    def _not_placed(self, arguments: FilterRequest | None, error: Exception) -> Response:
        """A kube-scheduler asks again and again after an error in `Error`. What is wrong with the pod itself is a
        reason to wait until something changes."""
        code, text = describe(error)
        if arguments is None or not isinstance(error, UserError) or isinstance(error, NotYetError):
            return ErrorInBody(filter_answer(error=text), code)
        return ErrorInBody(filter_answer(failed={COMPONENT: text}, hopeless=arguments.nodes), code)

    async def preempt(self, request: Request) -> Response:
        """The pods that a pod displaces. The answer has no field for an error."""
        body = await self._body(request)
        try:
            arguments = read_preempt(body)
            return Json(await self.service.ask(lambda scheduler: scheduler.preempt(arguments)))
        except NotServingError:
            raise
        except Exception as error:
            code, text = describe(error)
            return Json(text, status_code=code)

    async def bind(self, request: Request) -> Response:
        """Binds a pod to the node where it has its place. The answer has the errors."""
        body = await self._body(request)
        try:
            arguments = read_bind(body)
            tracked = await self.service.ask(lambda scheduler: scheduler.to_bind(arguments), durable=False)
            await self.service.have_bound(tracked)
            return Json(bind_answer())
        except NotServingError:
            raise
        except Exception as error:
            code, text = describe(error)
            if code >= 500:
                log.warning("a pod could not be bound: %s", text)
            return ErrorInBody(bind_answer(text), code)

    # Looking

    def inspection(self, read: Callable[[Request], Any]) -> Handler:
        """An endpoint that looks at what there is, while no cycle changes it.

        One cycle goes before, so that all is seen that had happened when it was asked.
        """

        def locked(request: Request) -> bytes:
            with self.service.locks.partition.read():
                return bytes(Json(read(request)).body)

        async def handler(request: Request) -> Response:
            if request.method != "GET":
                raise HTTPException(400, "this endpoint is read-only: use GET")
            await self.service.ask(lambda scheduler: scheduler.lifecycle.catch_up())
            try:
                body = await run_in_threadpool(locked, request)
            except UserError as error:
                raise HTTPException(400, str(error)) from error
            return Response(body, media_type="application/json")

        return handler

    def groups(self, _: Request) -> Any:
        """All affinity groups that have cells."""
        gangs = sorted(self.service.allocator.groups(), key=lambda gang: gang.name)
        return {"items": [status.gang(gang) for gang in gangs if status.has_cells(gang)]}

    def group(self, request: Request) -> Any:
        """One of them."""
        gang = self._gang(request)
        if not status.has_cells(gang):
            raise UserError(f"affinity group {gang.name} has no cells, but waits: see /v2/inspect/gangs/")
        return status.gang(gang)

    def _gang(self, request: Request) -> GangStatus:
        name = request.path_params["name"]
        gang = self.service.allocator.group(name)
        if gang is None:
            raise UserError(f"there is no affinity group {name}")
        return gang

    def full_groups(self, _: Request) -> Any:
        """All gangs, those that wait, or fail for good, too."""
        gangs = sorted(
            failing.gangs(self.service.allocator, self.service.scheduler.tracker), key=lambda gang: gang.name
        )
        return {"items": [status.full_gang(gang) for gang in gangs]}

    def full_group(self, request: Request) -> Any:
        """One of them."""
        allocator, name = self.service.allocator, request.path_params["name"]
        refused = failing.refused(allocator, self.service.scheduler.tracker) if name not in allocator.gangs else ()
        return status.full_gang(next((x for x in refused if x.name == name), None) or self._gang(request))

    def problems(self, _: Request) -> Any:
        """Pods that cannot be understood."""
        return status.problems(self.service.allocator, self.service.scheduler.tracker)

    def node(self, request: Request) -> Any:
        """What holds a node, and why it is bad."""
        x = self.service.scheduler
        return questions.node(x.allocator, x.tracker, x.history, request.path_params["name"])

    def quotas(self, _: Request) -> Any:
        """How full all virtual clusters are."""
        x = self.service.scheduler
        return questions.tenants(x.allocator, x.tracker, x.history)

    def quota(self, request: Request) -> Any:
        """How full one is, who runs in it, and who waits."""
        x = self.service.scheduler
        return questions.tenant(x.allocator, x.tracker, x.history, request.path_params["name"])

    def opportunistic(self, _: Request) -> Any:
        """Gangs that leave first."""
        return questions.opportunistic(self.service.allocator)

    def events(self, request: Request) -> Any:
        """What happened: `seconds` ago at most, to a `gang`, on a `node`, in a `virtualCluster`."""
        gang, node, tenant = (request.query_params.get(key, "") for key in ("gang", "node", "virtualCluster"))
        return questions.events(self.service.scheduler.history.events(_since(request), gang, node, tenant))

    def preemptions(self, request: Request) -> Any:
        """How many gangs were preempted, `seconds` ago at most."""
        return questions.preemptions(self.service.scheduler.history, _since(request))

    def usage(self, request: Request) -> Any:
        """How full the cluster was, `seconds` ago at most."""
        return questions.usage(self.service.scheduler.history, _since(request))

    def applications(self, _: Request) -> Any:
        """The lives of all gangs."""
        return status.applications(self.service.scheduler.lifecycle)

    def application(self, request: Request) -> Any:
        """That of one: all machines along it."""
        return status.application_follower(self.service.scheduler.lifecycle).status(request.path_params["name"])

    def cluster(self, _: Request) -> Any:
        """All cells."""
        allocator = self.service.allocator
        return {
            "physicalCluster": status.physical_cluster(allocator.cluster),
            "virtualClusters": status.virtual_clusters(allocator),
        }

    def physical(self, _: Request) -> Any:
        """The physical ones."""
        return status.physical_cluster(self.service.allocator.cluster)

    def tenants(self, _: Request) -> Any:
        """Those of all virtual clusters."""
        return status.virtual_clusters(self.service.allocator)

    def tenant(self, request: Request) -> Any:
        """Those of one."""
        name = request.path_params["name"]
        if name not in self.service.allocator.cluster.tenants:
            raise UserError(f"there is no virtual cluster {name}")
        return status.virtual_cluster(self.service.allocator, name)

    async def paths(self, request: Request) -> Response:
        """What can be asked."""
        if request.method != "GET":
            raise HTTPException(400, "this endpoint is read-only: use GET")
        return Json({"paths": self._paths})

    async def all_fits(self, request: Request) -> Response:
        """The largest gangs that fit now, opportunistic and guaranteed ones."""
        return await self._answer(request, self._fits.all())

    async def fits(self, request: Request) -> Response:
        """The largest guaranteed gangs that fit into a virtual cluster now."""
        return await self._answer(request, self._fits.tenant(request.path_params["name"]))

    async def _answer(self, request: Request, answer: Coroutine[Any, Any, Any]) -> Response:
        """For what does not change anything, and is not read while cycles stand still."""
        if request.method != "GET":
            answer.close()
            raise HTTPException(400, "this endpoint is read-only: use GET")
        try:
            return Json(await answer)
        except UserError as error:
            raise HTTPException(400, str(error)) from error

    async def why(self, request: Request) -> Response:
        """Why a gang waits. Between two cycles, in their thread: the answer needs a trial on the ledger."""
        return await self._answer(request, self._why(request.path_params["name"]))

    async def _why(self, name: str) -> dict[str, Any]:
        answer, question = await self.service.ask(lambda x: why(x.allocator, x.tracker, x.history, name))
        if question is not None:
            answer["wouldMakeRoom"] = await run_in_threadpool(what_would_free_space, question)
        return dict(answer)

    # How it is

    async def metrics(self, _: Request) -> Response:
        """For Prometheus."""
        return PlainTextResponse(await run_in_threadpool(self.service.metrics.text))

    async def healthy(self, _: Request) -> Response:
        """Whether it works, or will."""
        failure = self.service.failure
        return PlainTextResponse("ok\n") if failure is None else PlainTextResponse(f"{failure}\n", status_code=500)

    async def ready(self, _: Request) -> Response:
        """Whether it takes requests now."""
        ready, why = self.service.ready()
        return PlainTextResponse(f"{why}\n", status_code=200 if ready else 503)

    # Simulation

    async def simulate(self, request: Request) -> Response:
        """Watch events, one on a line: they happen all, or none."""
        source = self.service.source
        assert isinstance(source, MemorySource), "there is no such endpoint otherwise"
        try:
            changes = [read_change(line) for line in (await self._body(request)).splitlines() if line.strip()]
        except UserError as error:
            raise HTTPException(400, str(error)) from error
        source.tell(change for change in changes if change is not None)
        return Json({"changes": len(changes)})


def _since(request: Request) -> float:
    """The moment `seconds` ago, a query parameter; the epoch without it. Raises `UserError`."""
    text = request.query_params.get("seconds", "")
    try:
        seconds = float(text or "inf")
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise UserError(f"seconds must be a number from 0, not {text}")
    return max(0.0, time.time() - seconds)


def _measured(handler: Handler, service: Service, path: str) -> Handler:
    """Counts requests by outcome, and how long they take."""

    async def measured(request: Request) -> Response:
        begun, outcome = time.perf_counter(), "500"
        try:
            response = await handler(request)
            outcome = str(response.outcome if isinstance(response, ErrorInBody) else response.status_code)
            return response
        except HTTPException as error:
            outcome = str(error.status_code)
            raise
        except NotServingError as error:
            outcome = "503"
            raise HTTPException(503, str(error)) from error
        finally:
            service.metrics.requests.labels(path, outcome).inc()
            service.metrics.seconds.labels(path).observe(time.perf_counter() - begun)

    return measured


async def _refused(_: Request, error: Exception) -> Response:
    """As JSON text, with the cause."""
    assert isinstance(error, HTTPException)
    return Json(
        f"{'user' if error.status_code < 500 else 'platform'} error ({error.status_code}): {error.detail}",
        status_code=error.status_code,
    )


async def _failed(_: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    code, text = describe(error)
    return Json(text, status_code=code)
