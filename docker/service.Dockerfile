# A web service that tells which rules are true of an event (docs/guides/service.md).
#
#     docker build -f docker/service.Dockerfile -t matchwood-service .
#     docker run -p 8000:8000 -v /data/rules.matchwood:/rules:ro matchwood-service

FROM python:3.12-slim

# Code for a level of processors runs on every machine of that level; for aarch64, --build-arg PROCESSOR=generic.
ARG PROCESSOR=x86-64-v3
# The context has no tags: say which version this is.
ARG VERSION=0.2.0.dev0
ENV MATCHWOOD_CACHE_DIR=/opt/matchwood RULES=/rules

COPY . /src
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MATCHWOOD=$VERSION pip install --no-cache-dir /src 'fastapi>=0.115' 'uvicorn>=0.30' \
    && NUMBA_CPU_NAME=$PROCESSOR NUMBA_CPU_FEATURES= matchwood warmup --engines auto \
    && chmod -R a+rX /opt/matchwood \
    && mkdir /app && cp /src/docker/service.py /app/ && rm -r /src

WORKDIR /app
USER nobody
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health').read()"]
CMD ["uvicorn", "service:app", "--host", "0.0.0.0", "--port", "8000"]
