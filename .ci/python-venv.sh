# To be sourced: `python_venv <name> <package…>` sets $venv, a venv that later runs reuse and that is never incomplete.
# Returns an error when the venv cannot be created, even where `set -e` has no effect.
python_venv() {
  venv=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-ci/$1
  shift
  [ ! -e "$venv/complete" ] || return 0
  python3 -c 'import ensurepip' 2>/dev/null || .ci/apt-install.sh ensurepip:python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv" &&
    "$venv/bin/pip" install -q --disable-pip-version-check "$@" &&
    touch "$venv/complete"
}
