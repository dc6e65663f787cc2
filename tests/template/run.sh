#!/usr/bin/env bash
# Checks the built template: that it is sound, and that each way to break it is caught.
#
#   tests/template/run.sh [argument of pytest...]
#
# Builds with sam build where there is no build, or an older one than template.yaml. CONFIG_ENV chooses another
# configuration of samconfig.toml than local. RECORD=1 records the Pipe anew in golden/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests/setup.sh sam
export PATH="$PWD/.local/venv-sam/bin:$PATH" SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION="${AWS_DEFAULT_REGION:-eu-west-1}"

built=.aws-sam/build/template.yaml
if [ -z "${TEMPLATE:-}" ] && { [ ! -f "$built" ] || [ template.yaml -nt "$built" ]; }; then
    tests/build.sh
fi
echo "template: sam validate --lint" >&2
sam validate --config-env "${CONFIG_ENV:-local}"
# Nobody builds anew while it is read.
exec flock .local/build.lock python -m pytest -p no:cacheprovider -q tests/template "$@"
