"""Published matchers of intervals that HEM is measured against: REIN, TAMA and H-TREE, compiled as our engines are."""

from matchwood.bench.rivals.base import Rival
from matchwood.bench.rivals.htree import HTree
from matchwood.bench.rivals.rein import Rein
from matchwood.bench.rivals.tama import Tama

__all__ = ["HTree", "Rein", "Rival", "Tama"]
