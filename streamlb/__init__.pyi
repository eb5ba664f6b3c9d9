# The public names of streamlb, one in each line. Type checkers read them here, and so does
# __init__.py, which loads a name on first use.
from streamlb._version import __version__ as __version__

# keys, streams and metrics
from streamlb.aggregation import PartialCounts as PartialCounts
from streamlb.footprint import KeyFootprint as KeyFootprint
from streamlb.keys import key_array as key_array
from streamlb.metrics import ReplicationCounter as ReplicationCounter
from streamlb.metrics import checkpoint_imbalance as checkpoint_imbalance
from streamlb.metrics import head_tail_load as head_tail_load
from streamlb.metrics import imbalance as imbalance
from streamlb.metrics import movement as movement
from streamlb.metrics import replication as replication
from streamlb.stand_ins import cashtags as cashtags
from streamlb.stand_ins import tweets as tweets
from streamlb.stand_ins import twitter as twitter
from streamlb.stand_ins import wikipedia as wikipedia
from streamlb.streams import Drifting as Drifting
from streamlb.streams import Phase as Phase
from streamlb.streams import Phased as Phased
from streamlb.streams import Stream as Stream
from streamlb.streams import Uniform as Uniform
from streamlb.streams import Zipf as Zipf
from streamlb.streams import execution_times as execution_times
from streamlb.traces import Trace as Trace

# sketches
from streamlb.sketches.cost_sketch import CostSketch as CostSketch
from streamlb.sketches.count_min import CountMin as CountMin
from streamlb.sketches.space_saving import SpaceSaving as SpaceSaving

# groupings
from streamlb.groupings.bounded_hash import BoundedLoadHashing as BoundedLoadHashing
from streamlb.groupings.consistent import ConsistentGrouping as ConsistentGrouping
from streamlb.groupings.d_choices import DChoices as DChoices
from streamlb.groupings.key import KeyGrouping as KeyGrouping
from streamlb.groupings.partial_key import PartialKeyGrouping as PartialKeyGrouping
from streamlb.groupings.power_of_two import PowerOfTwoChoices as PowerOfTwoChoices
from streamlb.groupings.random_choices import PowerOfRandomChoices as PowerOfRandomChoices
from streamlb.groupings.round_robin_head import RoundRobinHead as RoundRobinHead
from streamlb.groupings.shuffle import ShuffleGrouping as ShuffleGrouping
from streamlb.groupings.w_choices import WChoices as WChoices

# scheduling
from streamlb.scheduling.greedy import greedy_schedule as greedy_schedule
from streamlb.scheduling.posg import POSG as POSG
from streamlb.scheduling.posg import POSGInstance as POSGInstance
from streamlb.scheduling.posg import POSGScheduler as POSGScheduler

# shedding
from streamlb.shedding.baselines import FullKnowledge as FullKnowledge
from streamlb.shedding.baselines import RandomShedder as RandomShedder
from streamlb.shedding.baselines import StrawMan as StrawMan
from streamlb.shedding.local import LoadAwareShedder as LoadAwareShedder
from streamlb.shedding.remote import RemoteOperator as RemoteOperator
from streamlb.shedding.remote import RemoteShedder as RemoteShedder

# placement
from streamlb.placement.even import even_schedule as even_schedule
from streamlb.placement.pipeline import PipelineSchedule as PipelineSchedule
from streamlb.placement.pipeline import pipeline_schedule as pipeline_schedule
from streamlb.placement.placement import Placement as Placement
from streamlb.placement.resource_aware import resource_aware_schedule as resource_aware_schedule
from streamlb.placement.topology import Topology as Topology

# simulation
from streamlb.simulation.capacity import CapacityResult as CapacityResult
from streamlb.simulation.capacity import diurnal as diurnal
from streamlb.simulation.capacity import fast_and_slow as fast_and_slow
from streamlb.simulation.capacity import simulate_capacity as simulate_capacity
from streamlb.simulation.cluster import ClusterResult as ClusterResult
from streamlb.simulation.cluster import simulate_cluster as simulate_cluster
from streamlb.simulation.shed_operator import simulate_shed_operator as simulate_shed_operator
from streamlb.simulation.operator import OperatorResult as OperatorResult
from streamlb.simulation.operator import simulate_operator as simulate_operator
from streamlb.simulation.pipeline import PipelineResult as PipelineResult
from streamlb.simulation.pipeline import simulate_pipeline as simulate_pipeline
from streamlb.simulation.shedding import SheddingResult as SheddingResult
from streamlb.simulation.shedding import seven_phases as seven_phases
from streamlb.simulation.shedding import simulate_shedding as simulate_shedding

# tools
from streamlb.warm import warmup as warmup
