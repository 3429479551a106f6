"""What the machines call for, each of what it stands for."""

from __future__ import annotations

from typing import Literal, NoReturn

from generated.confine import Slice, Sliver
from generated.grove import PodGang
from generated.yunikorn.core import Application, ApplicationState, Node, NodeState, ObjectState
from generated.yunikorn.shim import ShimApplication, ShimApplicationState, ShimNode, Task, TaskState
from runtime.lifecycle.deploy import UnderwayError, deploy
from runtime.lifecycle.interfaces import Actions
from runtime.lifecycle.registry import Core, Gang, HostShim, Part, PodTask, Shim, Work
from runtime.lifecycle.release import release_allocation

OK: Literal["ok"] = "ok"
ERR: Literal["err"] = "err"
TAKES_FAILURE = (
    ShimApplicationState.SUBMITTED,
    ShimApplicationState.ACCEPTED,
    ShimApplicationState.RUNNING,
    ShimApplicationState.FAILING,
)


class CoreActions:
    """Of applications, as the scheduler sees them."""

    def report(self, application: Application) -> None:
        """The shim hears of the new state, if it takes what that means; as its dispatcher does."""
        assert isinstance(application, Core)
        shim = application.owner.shim
        match application.state:
            case ApplicationState.COMPLETED if shim.state is ShimApplicationState.RUNNING:
                shim.complete_application()
            case ApplicationState.FAILING | ApplicationState.FAILED if shim.state in TAKES_FAILURE:
                shim.fail_application()
            case ApplicationState.EXPIRED:
                owner = application.owner
                owner.registry.past.pop(owner.past_name, None)
            case _:
                pass

    def retire(self, application: Application) -> None:
        """Another application may have its name from now on."""
        assert isinstance(application, Core)
        owner = application.owner
        owner.retire()
        registry = owner.registry
        del registry.applications[owner.name]
        registry.past[owner.past_name] = owner


class ShimActions:
    """Of applications, from the side that submits them. There are no placeholders: gangs are placed whole."""

    def request(self, shim_application: ShimApplication) -> None:
        """The allocator knows a pod of it already: it cannot be refused any more."""
        assert isinstance(shim_application, Shim)
        shim_application.owner.core.run()
        shim_application.accept_application()
        shim_application.run_application()

    def dispatch_fail(self, shim_application: ShimApplication) -> None:
        """It has been refused."""
        shim_application.fail_application()

    def nothing(self, shim_application: ShimApplication) -> None:
        """Pods are told to go by their gang."""

    create_placeholders = count_bound = count_completed = delete_placeholders = nothing
    fail_pods = delete_pod = delete_placeholder = nothing


class TaskActions:
    """Of pods."""

    def dispatch_submit(self, task: Task) -> None:
        """There are no volumes to wait for."""
        task.submit_task()

    def dispatch_fail(self, task: Task) -> None:
        """The ask was refused."""
        task.task_fail()

    def ask(self, task: Task) -> None:
        """The pod waits for a place."""
        assert isinstance(task, PodTask)
        task.slot.application.asks += 1

    def bind(self, task: Task) -> None:
        """It has one. Binding it is what its sliver does first."""
        assert isinstance(task, PodTask)
        task.slot.application.asks -= 1
        deploy(task.slot)

    def release_ask(self, task: Task) -> None:
        """It waits no longer."""
        assert isinstance(task, PodTask)
        task.slot.application.asks -= 1

    def release_allocation(self, task: Task) -> None:
        """Its leaf cells are free for others."""
        assert isinstance(task, PodTask)
        release_allocation(task.slot)


class GangActions:
    """Of gangs."""

    def publish_score(self, pod_gang: PodGang) -> None:
        """The fewest nodes that such a gang could be on, divided by those that it is on."""
        assert isinstance(pod_gang, Gang)
        application = pod_gang.owner
        sizes = application.registry.sizes
        placed = [slot for slot in application.slots if slot.is_allocated]
        if not placed:
            return
        nodes = {slot.node for slot in placed}
        largest = max(sizes.get(node, 1) for node in nodes)
        application.score = -(-sum(len(slot.leaf_cells) for slot in placed) // largest) / len(nodes)


class WorkActions:
    """Of slices: what a gang needs besides the nodes is its places."""

    def alloc(self, slice_: Slice) -> Literal["ok", "err"]:
        """The allocator holds them."""
        assert isinstance(slice_, Work)
        return OK if slice_.owner.allocated else ERR

    def dealloc(self, slice_: Slice) -> None:
        """They have been given back, pod by pod."""


class PartActions:
    """Of slivers: pods on their nodes. The cluster brings them up, and says how far they are."""

    def alloc(self, sliver: Sliver) -> Literal["ok", "err"]:
        """The allocator holds the leaf cells, whatever the node is like."""
        return OK

    def deploy(self, sliver: Sliver) -> NoReturn:
        """Until the cluster says that the pod is bound."""
        raise UnderwayError

    def start(self, sliver: Sliver) -> NoReturn:
        """It is bound. Until the cluster says that it runs."""
        assert isinstance(sliver, Part)
        task = sliver.slot.task
        if task is not None and task.state is TaskState.ALLOCATED:
            task.task_bound()
        raise UnderwayError

    def nothing(self, sliver: Sliver) -> None:
        """The cluster does it, and the leaf cells are given back with the pod."""

    stop = undeploy = dealloc = store = stsn = forget = nothing


class QueueActions:
    """Of queues and the whole cluster."""

    def stamp(self, object_state: ObjectState) -> None:
        """The time of the change is not needed."""


class NodeActions:
    """Of nodes, as the scheduler sees them."""

    def nothing(self, node: Node) -> None:
        """The allocator knows. Pods are lost when the cluster says so: until then, they keep their leaf cells."""

    add_node = remove_node = resize = more_draining = fewer_draining = nothing


class HostActions:
    """Of nodes, as they register."""

    def register(self, shim_node: ShimNode) -> None:
        """The core adds it, unless the cluster takes no more."""
        assert isinstance(shim_node, HostShim)
        node = shim_node.host.node
        node.create()
        if node.state is NodeState.SCHEDULABLE:
            shim_node.node_accepted()
        else:
            shim_node.node_rejected()

    def dispatch_ready(self, shim_node: ShimNode) -> None:
        """It was not cordoned."""
        shim_node.node_ready()

    def dispatch_drain(self, shim_node: ShimNode) -> None:
        """It was."""
        shim_node.drain_node()

    def drain(self, shim_node: ShimNode) -> None:
        """Informs the core."""
        assert isinstance(shim_node, HostShim)
        shim_node.host.node.drain_node()

    def restore(self, shim_node: ShimNode) -> None:
        """Informs the core."""
        assert isinstance(shim_node, HostShim)
        shim_node.host.node.drain_to_schedulable()


def actions() -> Actions:
    """For all machines: what they stand for is in themselves."""
    return Actions(
        CoreActions(), ShimActions(), TaskActions(), GangActions(), WorkActions(), PartActions(),
        QueueActions(), NodeActions(), HostActions(),
    )  # fmt: skip
