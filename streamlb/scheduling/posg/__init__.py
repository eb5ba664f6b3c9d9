"""POSG, proactive online shuffle grouping (Rivetti et al. 2015): in one process, or in two halves.

`options` holds what a user chooses, `scheduler` the scheduler's side of the protocol, `local` runs
scheduler and instances in one process, and `remote` has the two halves that exchange bytes.
"""

from streamlb.scheduling.posg.local import POSG
from streamlb.scheduling.posg.options import POSGOptions
from streamlb.scheduling.posg.remote import POSGInstance, POSGScheduler

__all__ = ["POSG", "POSGInstance", "POSGOptions", "POSGScheduler"]
