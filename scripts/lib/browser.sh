# shellcheck shell=bash
# shellcheck disable=SC2154 # common.sh sets root
# Runs Python with Playwright and Debian's Chromium, for scripts that source common.sh.

browser_tests=$root/web/browser
browser_venv=$root/.build/web-browser

# Installs Chromium and Playwright. Exits with 69 if PyPI is not available. Sets CHROMIUM.
ensure_browser() {
  ensure_commands chromium:chromium python3:python3
  CHROMIUM=$(command -v chromium)
  export CHROMIUM
  cmp -s "$browser_tests/requirements.txt" "$browser_venv/requirements.txt" && return
  say "Installing Playwright and axe (PyPI)"
  rm -rf "$browser_venv"
  python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  python3 -m venv "$browser_venv" >&2 || die 69 "python3 cannot make a virtual environment"
  pip_install "$browser_venv" -r "$browser_tests/requirements.txt"
  cp "$browser_tests/requirements.txt" "$browser_venv/"
}

# run_browser ARGUMENT…: runs Python's unittest in web/browser.
run_browser() (
  cd "$browser_tests" || exit
  PYTHONDONTWRITEBYTECODE=1 exec "$browser_venv/bin/python" -m unittest "$@"
)
