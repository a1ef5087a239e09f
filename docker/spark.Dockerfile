# Spark's driver and executors on Kubernetes, with Matchwood and its compiled kernels.
#
#     docker build -f docker/spark.Dockerfile -t matchwood-spark .
#     spark-submit --conf spark.kubernetes.container.image=matchwood-spark …
#
# Spark's own images have an older Python than Matchwood needs; so Spark is copied from one into an image of Python.

ARG SPARK_IMAGE=apache/spark:4.1.0
FROM $SPARK_IMAGE AS spark

FROM python:3.12-slim-bookworm

# Code for a level of processors runs on every machine of that level; for aarch64, --build-arg PROCESSOR=generic.
ARG PROCESSOR=x86-64-v3
# The context has no tags: say which version this is.
ARG VERSION=0.2.0.dev0
ENV MATCHWOOD_CACHE_DIR=/opt/matchwood SPARK_HOME=/opt/spark PATH=$PATH:/opt/spark/bin PYSPARK_PYTHON=python3

RUN apt-get update \
    && apt-get install -y --no-install-recommends gosu openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 185 --create-home --home-dir /opt/spark spark
COPY --from=spark --chown=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh

COPY . /src
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MATCHWOOD=$VERSION pip install --no-cache-dir /src 'pandas>=2.2,<3' \
    && NUMBA_CPU_NAME=$PROCESSOR NUMBA_CPU_FEATURES= matchwood warmup --engines auto \
    && chmod -R a+rX /opt/matchwood && rm -r /src

WORKDIR /opt/spark/work-dir
USER spark
ENTRYPOINT ["/opt/entrypoint.sh"]
