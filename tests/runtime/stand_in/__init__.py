"""A stand-in for a cluster of today (Kubernetes 1.36): API server, kube-scheduler and kubelets, as three processes.

They do what a real cluster does where the allocator can tell the difference. Each rule quotes its measurement
("measured behind 1.36.2"), or says that it is "from its sources" (of Kubernetes) or "assumed". The API server writes
every change to a file, which survives a kill, and which is a history that tests can check afterwards.
"""
