# SPDX-License-Identifier: Apache-2.0
"""Collective communication from Python.

hccl.manage.api   groups of ranks, and who is who in them
hccl.split.api    how gradients are cut into segments
hccl.fusion       all-reduce of gradients by these segments
hccl.world        the world group of a program

Every failure is a ValueError; what the library has to say about it is its __cause__.
"""

__version__ = "0.1.0"
