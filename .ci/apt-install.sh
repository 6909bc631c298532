#!/usr/bin/env bash
# Installs missing Debian packages: `apt-install.sh <command or file>:<package> …`.
# Does not run apt when every command (or absolute path) is present.
set -euo pipefail

missing=()
for pair in "$@"; do
  probe=${pair%%:*}
  command -v "$probe" >/dev/null 2>&1 || missing+=("${pair#*:}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
echo "apt-get install ${missing[*]}"
"${apt[@]}" update >/dev/null
"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
