# The driver: flows, release log, reports. Build from a clean clone: docker build -f deployments/containers/driver.Dockerfile .
# The home is a volume that lasts; PostgreSQL and a Dask cluster are reached by PRIVCERT_LOG_URL and DASK_SCHEDULER_ADDRESS.
FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /srv/privcert
COPY requirements.lock ./
RUN uv venv /srv/env && uv pip sync --no-cache --require-hashes --compile-bytecode --python /srv/env requirements.lock
COPY . .
RUN uv pip install --no-cache --no-deps --python /srv/env . && useradd --uid 10001 --create-home operator && \
    install --directory --owner 10001 --mode 0700 /home/operator/privcert
USER 10001
ENV PATH=/srv/env/bin:$PATH PRIVCERT_HOME=/home/operator/privcert PRIVCERT_CHECKOUT=/srv/privcert
VOLUME /home/operator/privcert
ENTRYPOINT ["privcert"]
CMD ["--help"]
