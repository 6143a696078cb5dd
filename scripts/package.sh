#!/usr/bin/env bash
# Makes what people install, in target/package (or --out DIRECTORY), with SHA256SUMS beside it:
#
#   scripts/package.sh deb        a Debian package: tarndb_VERSION_ARCHITECTURE.deb
#   scripts/package.sh archive    tarndb-VERSION-ARCHITECTURE.tar.gz with `make install`'s files, and its SBOM (CycloneDX)
#   scripts/package.sh tree DIR   only these files, as they lie on a machine, below DIR: what `make install DESTDIR=DIR` does
#
# --binary PATH takes another binary than target/release/tarndb; --version VERSION says what it is (as Debian compares them). The same binary gives the
# same bytes: every time stamp is that of the commit.
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"

kind=${1:?deb, archive or tree}
shift
tree=""
if [[ $kind == tree ]]; then tree=${1:?where to} && shift; fi
out=${CARGO_TARGET_DIR:-$root/target}/package
binary=${CARGO_TARGET_DIR:-$root/target}/release/tarndb
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
prefix=/usr
while (( $# )); do
  case $1 in
    --binary) binary=$2 ;;
    --version) version=$2 ;;
    --out) out=$2 ;;
    --prefix) prefix=$2 ;;
    *) say "unknown: $1" && exit 2 ;;
  esac
  shift 2
done
[[ -x $binary ]] || { say "no binary at $binary: \`make release\` builds it, or --binary names another"; exit 2; }
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || stat -c %Y Cargo.lock); fi
export SOURCE_DATE_EPOCH
architecture=$(dpkg --print-architecture 2> /dev/null || uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# fill DIRECTORY: the files that an installation has.
fill() {
  local to=$1 name
  install -D -m 755 "$binary" "$to$prefix/bin/tarndb"
  strip --strip-debug "$to$prefix/bin/tarndb" 2> /dev/null || true
  mkdir -p "$to$prefix/share/man/man1" "$to$prefix/share/bash-completion/completions" "$to$prefix/share/zsh/vendor-completions" \
    "$to$prefix/share/fish/vendor_completions.d"
  "$binary" man "$to$prefix/share/man/man1"
  gzip -9 -n "$to$prefix"/share/man/man1/*.1
  "$binary" completions bash > "$to$prefix/share/bash-completion/completions/tarndb"
  "$binary" completions zsh > "$to$prefix/share/zsh/vendor-completions/_tarndb"
  "$binary" completions fish > "$to$prefix/share/fish/vendor_completions.d/tarndb.fish"
  install -D -m 644 packaging/systemd/tarndb.service "$to$prefix/lib/systemd/system/tarndb.service"
  sed -i "s#/usr/bin/tarndb#$prefix/bin/tarndb#" "$to$prefix/lib/systemd/system/tarndb.service"
  install -D -m 644 packaging/systemd/sysusers.conf "$to$prefix/lib/sysusers.d/tarndb.conf"
  install -D -m 640 packaging/tarndb.toml "$to/etc/tarndb/tarndb.toml"
  install -D -m 644 packaging/logrotate "$to/etc/logrotate.d/tarndb"
  for name in LICENSE THIRD-PARTY-NOTICES README.md CHANGELOG.md; do
    install -D -m 644 "$name" "$to$prefix/share/doc/tarndb/$name"
  done
}

checksum() { (cd "$out" && sha256sum -- *.deb *.tar.gz *.cdx.json 2> /dev/null > SHA256SUMS || true); }

mkdir -p "$out"
case $kind in
  tree) fill "$tree" ;;
  deb)
    fill "$work/root"
    gzip -9 -n "$work/root/usr/share/doc/tarndb/CHANGELOG.md" "$work/root/usr/share/doc/tarndb/THIRD-PARTY-NOTICES"
    mv "$work/root/usr/share/doc/tarndb/LICENSE" "$work/root/usr/share/doc/tarndb/copyright"
    install -d -m 755 "$work/root/DEBIAN"
    install -m 755 packaging/debian/{postinst,prerm,postrm} "$work/root/DEBIAN/"
    install -m 644 packaging/debian/conffiles "$work/root/DEBIAN/"
    # The newest symbols of glibc that the binary asks for.
    glibc=$(grep -aoE 'GLIBC_2\.[0-9]+' "$binary" | sort -uV | tail -1)
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@GLIBC@/${glibc#GLIBC_}/" \
      -e "s/@INSTALLED_KIB@/$(du -sk --apparent-size --exclude=DEBIAN "$work/root" | cut -f1)/" packaging/debian/control.in > "$work/root/DEBIAN/control"
    find "$work/root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zgzip --build "$work/root" "$out/tarndb_${version}_$architecture.deb" > /dev/null
    say "made $out/tarndb_${version}_$architecture.deb"
    ;;
  archive)
    name=tarndb-$version-$(uname -m)
    fill "$work/$name"
    scripts/sbom.py "$version" > "$out/$name.cdx.json"
    tar --directory "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --create "$name" | gzip -9 -n > "$out/$name.tar.gz"
    say "made $out/$name.tar.gz and $name.cdx.json"
    ;;
  *) say "unknown: $kind" && exit 2 ;;
esac
[[ $kind == tree ]] || checksum
