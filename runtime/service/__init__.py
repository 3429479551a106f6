"""The allocator behind the scheduler-extender interface of Kubernetes, over HTTP."""
