# The public names of streamlb, one line each: read by type checkers, and by __init__.py, which loads a name on first use.
from streamlb._version import __version__ as __version__

# keys, streams, metrics
from streamlb.keys import key_array as key_array

# placement
from streamlb.placement.even import even_schedule as even_schedule
from streamlb.placement.pipeline import PipelineSchedule as PipelineSchedule
from streamlb.placement.pipeline import pipeline_schedule as pipeline_schedule
from streamlb.placement.placement import Placement as Placement
from streamlb.placement.resource_aware import resource_aware_schedule as resource_aware_schedule
from streamlb.placement.topology import Topology as Topology

# scheduling
from streamlb.scheduling.greedy import greedy_schedule as greedy_schedule
from streamlb.scheduling.posg import POSG as POSG
from streamlb.scheduling.split import POSGInstance as POSGInstance
from streamlb.scheduling.split import POSGScheduler as POSGScheduler

# shedding
from streamlb.shedding.baselines import FullKnowledge as FullKnowledge
from streamlb.shedding.baselines import RandomShedder as RandomShedder
from streamlb.shedding.baselines import StrawMan as StrawMan
from streamlb.shedding.load_aware import LoadAwareShedder as LoadAwareShedder
from streamlb.shedding.remote import RemoteOperator as RemoteOperator
from streamlb.shedding.remote import RemoteShedder as RemoteShedder

# simulation
from streamlb.simulation.composed import simulate_shed_operator as simulate_shed_operator
from streamlb.simulation.operator import OperatorResult as OperatorResult
from streamlb.simulation.operator import simulate_operator as simulate_operator
from streamlb.simulation.pipeline import PipelineResult as PipelineResult
from streamlb.simulation.pipeline import simulate_pipeline as simulate_pipeline
from streamlb.simulation.shedding import SheddingResult as SheddingResult
from streamlb.simulation.shedding import seven_phases as seven_phases
from streamlb.simulation.shedding import simulate_shedding as simulate_shedding

# sketches
from streamlb.sketches.cost_sketch import CostSketch as CostSketch
from streamlb.sketches.count_min import CountMin as CountMin
from streamlb.sketches.space_saving import SpaceSaving as SpaceSaving
from streamlb.streams import Drifting as Drifting
from streamlb.streams import Phase as Phase
from streamlb.streams import Phased as Phased
from streamlb.streams import Stream as Stream
from streamlb.streams import Uniform as Uniform
from streamlb.streams import Zipf as Zipf
from streamlb.streams import cashtags as cashtags
from streamlb.streams import execution_times as execution_times
from streamlb.streams import tweets as tweets
from streamlb.streams import twitter as twitter
from streamlb.streams import wikipedia as wikipedia
from streamlb.traces import Trace as Trace

# tools
from streamlb.warm import warmup as warmup
