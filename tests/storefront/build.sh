#!/usr/bin/env bash
# Builds the storefront into .local/storefront with `next build`; does nothing when nothing it is made of has changed.
#
# What is built is site/ with the two revalidation routes at the places that their own first lines name, but that the one of
# the App Router lies below /journal: one Next.js project cannot answer /api/revalidate from both routers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export NEXT_TELEMETRY_DISABLED=1
source=tests/storefront
routes=functions/purge/storefront
site=.local/storefront/site
log=.local/storefront/build.log

mkdir -p .local/storefront
exec 9>.local/storefront/build.lock
flock 9
stamp=$(find "$source/site" "$routes" "$source/build.sh" "$source/package-lock.json" -type f -print0 | sort -z |
    xargs -0 sha256sum | { node --version; pwd; cat; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$site/.stamp" 2>/dev/null)" = "$stamp" ]; then exit; fi

echo "build: next build of the storefront (about a minute the first time)" >&2
rm -rf "$site"
cp -r "$source/site" "$site"
cp "$source/package.json" "$site/"
mkdir -p "$site/app/journal/api/revalidate"
cp "$routes/pages-api-revalidate.js" "$site/pages/api/revalidate.js"
cp "$routes/app-api-revalidate-route.js" "$site/app/journal/api/revalidate/route.js"
ln -s ../../../tests/storefront/node_modules "$site/node_modules"
if ! (cd "$site" && node_modules/.bin/next build) >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
echo "$stamp" >"$site/.stamp"
