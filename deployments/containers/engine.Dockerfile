# A vLLM server for --engine-url, as `privcert engine start` would start it: one request at a time and nothing remembered,
# so that it may read a private corpus. For public corpora in batches leave out the flags of its third line.
# docker build -f deployments/containers/engine.Dockerfile --build-arg BUILD=cuda .
FROM python:3.11-slim-bookworm
ARG BUILD=cpu
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /srv/privcert
COPY deployments/worker/cpu.lock ./worker.lock
RUN uv venv /srv/worker && uv pip sync --no-cache --require-hashes --python /srv/worker worker.lock
COPY . .
RUN uv pip install --no-cache --no-deps --python /srv/worker . && \
    /srv/worker/bin/privcert engine install --folder /srv/engine --build "$BUILD" && \
    useradd --uid 10001 --create-home operator
USER 10001
ENV MODEL=/srv/engine/models/smollm2-135m-instruct NAME=smollm2-135m-instruct CONTEXT=2048 \
    VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 HF_HUB_OFFLINE=1
EXPOSE 8000
CMD ["sh", "-c", "exec /srv/engine/env/bin/python -m vllm.entrypoints.openai.api_server \
    --model \"$MODEL\" --served-model-name \"$NAME\" --host 0.0.0.0 --port 8000 --max-model-len \"$CONTEXT\" \
    --max-num-seqs 1 --no-enable-prefix-caching \
    --generation-config vllm --no-enable-log-requests --disable-uvicorn-access-log --disable-log-stats \
    --structured-outputs-config '{\"disable_any_whitespace\": true, \"backend\": \"xgrammar\"}'"]
