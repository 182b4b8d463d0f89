# Functions shared by the scripts. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Without it wgpu warns; some drivers put their caches there.
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
  XDG_RUNTIME_DIR=$(mktemp -d)
  export XDG_RUNTIME_DIR
fi

say() { printf '\n== %s\n' "$*"; }

# True if some Vulkan driver is registered where the loader looks.
have_vulkan() {
  # Not grep -q: it stops reading, and a broken pipe would count as failure.
  PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep 'libvulkan\.so\.1' >/dev/null || return 1
  [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && return 0
  compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null || compgen -G '/etc/vulkan/icd.d/*.json' >/dev/null
}

# Installs packages if that is possible without a password; otherwise says that it is not.
apt_install() {
  command -v apt-get >/dev/null || { echo "no apt-get here to install: $*"; return 1; }
  local sudo=""
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || { echo "not allowed to install: $*"; return 1; }
    sudo="sudo -n"
  fi
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq update >/dev/null 2>&1
  $sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1 \
    || { echo "apt-get could not install: $*"; return 1; }
}

ensure_vulkan() {
  if ! have_vulkan; then
    say "no Vulkan driver found: installing the software one (mesa-vulkan-drivers)"
    apt_install mesa-vulkan-drivers libvulkan1
  fi
}

# What the window tests need: a virtual display, a tool that types and clicks, a tool that takes screenshots,
# and the libraries that winit loads at run time.
have_window_tools() {
  command -v Xvfb >/dev/null && command -v xdotool >/dev/null && command -v import >/dev/null \
    && PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep 'libxkbcommon-x11\.so\.0' >/dev/null
}

# Sets GRAVITILE_WINDOW_TESTS if the window can be tested: the tests then fail instead of being skipped.
ensure_window_tools() {
  if ! have_window_tools; then
    say "no display to test the window on: installing one (xvfb, xdotool, imagemagick)"
    apt_install xvfb xdotool imagemagick libxkbcommon-x11-0 libxcursor1 libxi6 libxrandr2 libx11-xcb1 || true
  fi
  if have_window_tools; then
    export GRAVITILE_WINDOW_TESTS=1
  else
    echo "the window tests will be skipped"
  fi
}

# Installs packages from PyPI into a virtual environment, unless a command is there: ensure_venv FOLDER COMMAND PACKAGE...
ensure_venv() {
  local folder=$1 command=$2
  shift 2
  [ ! -x "$folder/bin/$command" ] || return 0
  python3 -c 'import ensurepip' 2>/dev/null || apt_install python3 python3-venv || return 1
  python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --timeout 15 --retries 2 "$@"
}

# The browser that the page is tested in, on a virtual display.
ensure_browser() {
  command -v chromium >/dev/null || { say "no browser to test the page in: installing chromium"; apt_install chromium || true; }
}

# Tools that compile and check clients of the C library.
ensure_capi_tools() {
  local missing=()
  command -v c++ >/dev/null || missing+=(g++)
  command -v gfortran >/dev/null || missing+=(gfortran)
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  command -v valgrind >/dev/null || missing+=(valgrind)
  command -v cmake >/dev/null || missing+=(cmake)
  command -v meson >/dev/null || missing+=(meson)
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing the tools that test the C library: ${missing[*]}"
    apt_install "${missing[@]}" || true
  fi
}

# True if a tool is installed; otherwise prints what is not tested, and adds it to the list of skipped parts.
have_tool() { # TOOL WHAT
  command -v "$1" >/dev/null && return 0
  echo "SKIPPED $2: there is no $1" | tee -a "${GRAVITILE_SKIPPED:-/dev/null}"
  return 1
}

need_cargo() {
  command -v cargo >/dev/null && return 0
  echo "cargo is not on the PATH: install Rust 1.95 or newer from https://rustup.rs" >&2
  exit 1
}
