#!/usr/bin/env bash
# Keep files of this version, which every later version must read: run once before a version ends,
#   PATH=.venv/bin:$PATH bash tests/golden/keep.sh 0.1.0
set -euo pipefail
cd "$(dirname "$0")"
into="$1"
mkdir "$into"
export DISCREET_LEDGER="$PWD/$into/ledger.db" DISCREET_LEDGER_KEY="$PWD/$into/ledger.key"
discreet budget set golden --epsilon 100 --delta 1e-3 --neighbours swap --purpose fixture
release() { discreet release log.parquet --quiet --source golden --purpose "a fixture" "$@"; }
release -o "$into/whole.xes.gz"
release -o "$into/whole.parquet" --attributes org:resource
release -o "$into/variants.variants.parquet" -m headtail
release -o "$into/variants.csv" -m travas --individual case:person --cases-per-individual 2
release -o "$into/follows.json" -m df-laplace --alphabet from-log
release -o "$into/tree.ptml" -m dpim --alphabet from-log
train() { discreet train log.parquet --source golden --mechanism sequence --alphabet from-log --max-length 8 "$@"; }
train -o "$into/model.discreet" --steps 4
discreet generate "$into/model.discreet" -o "$into/generated.csv" --cases 50
python - "$into" <<'PY'
"""Stop a training that is booked, so that its checkpoint stays."""
import signal
import subprocess
import sys
import time
from pathlib import Path

into = Path(sys.argv[1])
command = ["discreet", "train", "log.parquet", "--source", "golden", "--mechanism", "sequence",
           "--alphabet", "from-log", "--max-length", "8", "--steps", "4000", "-o", str(into / "stopped.discreet")]
process = subprocess.Popen(command)
checkpoint = into / "stopped.discreet.checkpoint"
while not (checkpoint.exists() and checkpoint.stat().st_size):
    time.sleep(0.05)
time.sleep(2)
process.send_signal(signal.SIGINT)
process.wait()
assert checkpoint.stat().st_size
PY
python - "$into" <<'PY'
"""The ledger as text, which git can show."""
import sqlite3
import sys
from pathlib import Path

into = Path(sys.argv[1])
with sqlite3.connect(into / "ledger.db") as connection:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (into / "ledger.sql").write_text("\n".join(connection.iterdump()) + "\n")
PY
rm "$into"/ledger.db*
ls -la "$into"
