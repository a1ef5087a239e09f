# An image in which Matchwood answers at once: kernels are compiled while it is built, not when a container starts.
#
#     docker build -t matchwood .
#     docker run --rm -v "$PWD:/data" -w /data matchwood match rules.matchwood events.parquet -o hits.parquet

FROM python:3.12-slim

# Code for a level of processors runs on every machine of that level, whatever the one that builds the image is; for
# aarch64, build with --build-arg PROCESSOR=generic. A wheel made by `make wheel` brings it along, and needs no warm-up.
ARG PROCESSOR=x86-64-v3
# The context has no tags: say which version this is.
ARG VERSION=0.2.0.dev0
ENV MATCHWOOD_CACHE_DIR=/opt/matchwood

COPY . /src
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MATCHWOOD=$VERSION pip install --no-cache-dir /src \
    && NUMBA_CPU_NAME=$PROCESSOR NUMBA_CPU_FEATURES= matchwood warmup --engines auto \
    && chmod -R a+rX /opt/matchwood

ENTRYPOINT ["matchwood"]
CMD ["--help"]
