"""All generators by name: whole workloads, and their rules block by block, here or on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.errors import InvalidArgument
from matchwood.workloads.abegen import abegen, abegen_block
from matchwood.workloads.abegen_settings import AbeSettings
from matchwood.workloads.abegen_settings import checked as checked_abegen
from matchwood.workloads.ads import AdsSettings, ads, ads_block
from matchwood.workloads.ads import checked as checked_ads
from matchwood.workloads.ads_arbitrary import AdsTreeSettings, ads_arbitrary, ads_arbitrary_block, checked_trees
from matchwood.workloads.begen import begen, begen_block
from matchwood.workloads.begen_settings import BegenSettings as BegenSettings
from matchwood.workloads.begen_settings import checked as checked_begen
from matchwood.workloads.contract_settings import ContractSettings
from matchwood.workloads.contract_settings import checked as checked_contracts
from matchwood.workloads.contracts import contracts, contracts_block
from matchwood.workloads.hem import HemSettings, hem, hem_block
from matchwood.workloads.hem import checked as checked_hem
from matchwood.workloads.qgrams import GramSettings, qgrams, qgrams_block
from matchwood.workloads.qgrams import checked as checked_qgrams
from matchwood.workloads.query_logs import LogSettings, query_logs, query_logs_block
from matchwood.workloads.query_logs import checked as checked_query_logs
from matchwood.workloads.shared.base import Workload
from matchwood.workloads.shared.blocks import Block, blocks_of
from matchwood.workloads.shared.on_spark import made_on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Generator(NamedTuple):
    """A generator: the class of its settings, what checks them, the whole workload, and one block of its rules."""

    settings: Any
    checked: Callable[[Any], Any]
    whole: Callable[..., Workload]
    block: Callable[[Any, Block], Workload]


GENERATORS = {
    "begen": Generator(BegenSettings, checked_begen, begen, begen_block),
    "abegen": Generator(AbeSettings, checked_abegen, abegen, abegen_block),
    "hem": Generator(HemSettings, checked_hem, hem, hem_block),
    "contracts": Generator(ContractSettings, checked_contracts, contracts, contracts_block),
    "ads": Generator(AdsSettings, checked_ads, ads, ads_block),
    "ads_arbitrary": Generator(AdsTreeSettings, checked_trees, ads_arbitrary, ads_arbitrary_block),
    "query_logs": Generator(LogSettings, checked_query_logs, query_logs, query_logs_block),
    "qgrams": Generator(GramSettings, checked_qgrams, qgrams, qgrams_block),
}


def generate(name: str, **settings: Any) -> Workload:
    """The workload of a generator.

    >>> generate("begen", rules=1_000, events=5, seed=1).rules.count
    1000
    """
    chosen = settings_of(name, settings)
    return GENERATORS[name].whole(**asdict(chosen))


def rules_block(name: str, settings: Any, block: Block) -> pa.Table:
    """Columns id and expression of one block's rules."""
    texts = GENERATORS[name].block(settings, block).rules_table()["expression"]
    return pa.table({"id": np.arange(block.first, block.first + block.count), "expression": texts})


def rules_on_spark(spark: SparkSession, name: str, **settings: Any) -> DataFrame:
    """The rules of a generator as a DataFrame of id and expression, made by the executors: those of `generate`."""
    chosen = settings_of(name, settings)
    blocks = blocks_of(chosen.rules)
    GENERATORS[name].block(chosen, blocks[0])  # what cannot be reached is told here, not by an executor
    return made_on_spark(spark, blocks, lambda block: rules_block(name, chosen, block), "id bigint, expression string")


def settings_of(name: str, settings: dict[str, Any]) -> Any:
    """The settings of a generator, checked: those that are given, the others as usual."""
    if name not in GENERATORS:
        raise InvalidArgument(f"there is no generator {name!r} (there are: {', '.join(GENERATORS)})")
    generator = GENERATORS[name]
    known = [field.name for field in fields(generator.settings)]
    for setting in settings:
        if setting not in known:
            raise InvalidArgument(f"{name} has no setting {setting!r} (there are: {', '.join(known)})")
    return generator.checked(generator.settings(**settings))
