#!/bin/bash
# The first process of a booted systemd's namespaces: an overlay of / that is thrown away, a cgroup of its own, no unit
# of this machine's, then systemd itself. `boot.py` starts it and waits for it; nothing outside is changed.
#   boot.sh SCRATCH NAME SOURCE PREFIX     a folder, a cgroup's name, the repository with its .venv, Python's own folder
set -eu
scratch=$1 name=$2 source=$3 prefix=$4

# Everything that is made here vanishes with the mount namespace.
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch"/{upper,work,root,cgroup,upper-source,work-source}
root=$scratch/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
for folder in run dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
mkdir "$root"/dev/{shm,pts}
for folder in tmp dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"; done
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"

# The repository as an installation of root's: where it stands here, no ordinary user may get to it.
mkdir -p "$root/opt/source"
mount -t overlay overlay -o "lowerdir=$source,upperdir=$scratch/upper-source,workdir=$scratch/work-source" \
    "$root/opt/source"
chmod 755 "$root/opt/source"
rm -rf "$root/opt/pi-connector"
ln -s source/.venv "$root/opt/pi-connector"
sed -i "1s|^#!.*|#!/opt/pi-connector/bin/python|" "$root/opt/source/.venv/bin/pi-connector"
sed -i "s|^$source\$|/opt/source|" "$root"/opt/source/.venv/lib/python*/site-packages/_editable_impl_*.pth
[ -e "$root$prefix/bin" ] || { mkdir -p "$root$prefix" && mount --bind "$prefix" "$root$prefix"; }
above=$root$prefix
until [ "$above" = "$root" ]; do
    chmod o+rx "$above"
    above=$(dirname "$above")
done

# Nothing starts but the journal and what the tests start.
for folder in "$root"/etc/systemd/system "$root"/usr/lib/systemd/system/*.wants "$root"/usr/lib/systemd/system-generators
do
    mount -t tmpfs -o mode=755 tmpfs "$folder"
done
mount --bind /dev/null "$root/etc/fstab"
ln -s /dev/null "$root/etc/systemd/system/systemd-journald-audit.socket"
cat >"$root/etc/systemd/system/tests.target" <<END
[Unit]
DefaultDependencies=no
Requires=systemd-journald.service
After=systemd-journald.service
END
cat >"$root/etc/systemd/journald.conf" <<END
[Journal]
Storage=volatile
RateLimitBurst=0
ReadKMsg=no
Audit=no
ForwardToSyslog=no
ForwardToWall=no
END
chroot "$root" useradd --create-home --user-group --shell /bin/bash pi

# A cgroup namespace begins at the cgroup in which it is made: two boots, and the machine's own systemd, stay apart.
mount -t cgroup2 none "$scratch/cgroup"
own=$scratch/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir "$own/$name"
echo 0 >"$own/$name/cgroup.procs"
mount --make-rshared "$root"
export container=test root
exec unshare --cgroup bash -euc '
    mount -t cgroup2 none "$root/sys/fs/cgroup"
    exec chroot "$root" /lib/systemd/systemd --system --unit=tests.target --log-target=journal --show-status=0'
