#!/bin/sh
# Installs the Debian packages that some tests use, as root; otherwise says what will be skipped.
# chromium: opens the HTML report. hipcc and HIP headers: compile what `port` wrote.
# prometheus and its company: scrape a lab node, fire the rules, deliver the alerts.
set -u
packages="chromium hipcc libamdhip64-dev prometheus prometheus-alertmanager prometheus-node-exporter"
missing=""
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "not root: tests that need these packages will be skipped:$missing"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || exit 0
for package in $missing; do
    apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || echo "could not install $package: its tests will be skipped"
done
exit 0
