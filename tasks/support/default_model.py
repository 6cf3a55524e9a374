"""The default support model for real audits, at a pinned commit of its hub."""

CROSS_ENCODER = "cross-encoder/nli-deberta-v3-base"
CROSS_ENCODER_REVISION = "6c749ce3425cd33b46d187e45b92bbf96ee12ec7"
