"""Everything is in pyproject.toml; only that a package with machine code in it is one for a platform is said here."""

from pathlib import Path

from setuptools import Distribution, setup


class PlatformDistribution(Distribution):
    """A wheel is for one Python and one platform if it carries machine code (`make wheel`), else for all."""

    def has_ext_modules(self) -> bool:
        return Path("matchwood/precompiled").is_dir()


setup(distclass=PlatformDistribution)
