# A machine that only scores: a Dask worker without Prefect (see deployments/worker), or the scheduler.
# docker build -f deployments/containers/worker.Dockerfile --build-arg BUILD=cuda .
# --build-arg ENGINE=yes adds vLLM, for a judge that the worker starts itself.
FROM python:3.11-slim-bookworm
ARG BUILD=cpu
ARG ENGINE=no
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /srv/privcert
COPY deployments/worker/${BUILD}.lock ./worker.lock
RUN uv venv /srv/worker && uv pip sync --no-cache --require-hashes --python /srv/worker worker.lock
COPY . .
RUN uv pip install --no-cache --no-deps --python /srv/worker . && \
    if [ "$ENGINE" = yes ]; then /srv/worker/bin/privcert engine install --folder /srv/engine --build "$BUILD"; fi && \
    useradd --uid 10001 --create-home operator && \
    install --directory --owner 10001 --mode 0700 /home/operator/privcert
USER 10001
ENV PATH=/srv/worker/bin:$PATH PRIVCERT_ENGINE=/srv/engine
# else every scheduler and worker keeps the last thousand messages of each connection, chunks and all
ENV DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH=10
CMD ["dask", "worker", "--nthreads", "1", "--resources", "GPU=1", "--no-dashboard"]
