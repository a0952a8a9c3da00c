#!/usr/bin/env bash
# Build wheel and sdist, install each into empty environments, and release a log with them: on every
# Python that is found, and on the oldest with the lowest versions of what we depend on.
#   bash tests/packaging/check.sh [PYTHON ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -gt 0 ]; then pythons=("$@"); else
  pythons=()
  for minor in 11 12 13 14; do
    for found in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python; do
      if "$found" -c '' 2>/dev/null; then pythons+=("$found"); break; fi
    done
  done
fi

python3 -m venv "$work/builder"
"$work/builder/bin/pip" install --quiet --disable-pip-version-check build
"$work/builder/bin/python" -m build --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
wheel=$(ls "$work"/dist/*.whl) sdist=$(ls "$work"/dist/*.tar.gz)
ls -l "$work/dist"

try() { # a name, a Python, and what to install
  local name=$1 python=$2; shift 2
  "$python" -m venv "$work/$name"
  "$work/$name/bin/pip" install --quiet --disable-pip-version-check "$@"
  ( cd "$work" && export XDG_DATA_HOME="$work/data-$name"
    discreet="$work/$name/bin/discreet"
    "$discreet" sample permits --cases 500 --seed 1 -o "$name.xes" >/dev/null
    "$discreet" release "$name.xes" -o "$name-shared.xes" --times --epsilon 1 --delta 1e-6 >/dev/null 2>&1
    "$discreet" certificate "$name-shared.xes" >/dev/null
    "$discreet" release "$name.xes" -o "$name.svg" -m df-laplace --alphabet from-log >/dev/null 2>&1
    "$discreet" evaluate "$name.xes" "$name-shared.xes" >/dev/null 2>&1
    "$discreet" advise "$name.xes" --seconds 2 --epsilon 1 >/dev/null 2>&1 )
  echo "$name: $("$python" --version), $(du -sm "$work/$name" | cut -f1) MB"
}

for python in "${pythons[@]}"; do
  try "wheel-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$python" "$wheel"
done
try sdist "${pythons[0]}" "$sdist"

# Every lower bound of the core's dependencies, as it stands in pyproject.toml.
"${pythons[0]}" - >"$work/lowest.txt" <<'P'
import re, tomllib
for line in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]:
    name, bound = re.fullmatch(r"([\w.-]+)(?:>=([\d.]+))?(?:,.*)?", line).groups()
    if bound:
        print(f"{name}=={bound}{'.*' if bound.count('.') < 2 else ''}")
P
try lowest "${pythons[0]}" --constraint "$work/lowest.txt" "$wheel"
