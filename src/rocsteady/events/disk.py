"""Storage: full, read-only, failing or unreachable file systems, and model files that are cut off."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_KERNEL = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"

KINDS = (
    Kind(
        name="disk-full",
        needles=("No space left on device",),
        pattern=r"^(?!.*(?:/dev/shm|inotify|nccl-|posix_fallocate|directory watch|fsnotify|shared memory))"
        r"(?:.*?(?:write|mkdir|open|create|copy\w*|to) (?P<path2>/[^\s:'\"]+):)?.*?no space left on device(?:.{0,4}: ?'(?P<path>[^']+)')?",
        sample=(
            "OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/hub/tmp1'",
            "write /var/lib/docker/tmp/GetImageBlob123: no space left on device",
        ),
        source="https://man7.org/linux/man-pages/man3/errno.3.html",
        about="node",
    ),
    Kind(
        name="model-cache-full",
        needles=("Not enough free disk space to download",),
        pattern=r"Not enough free disk space to download the file\. The expected file size is: (?P<need_mb>[\d.]+) MB\. "
        r"The target location (?P<path>\S+) only has (?P<free_mb>[\d.]+) MB free",
        sample="file_download.py:805: UserWarning: Not enough free disk space to download the file. The expected file size is: "
        "9809.05 MB. The target location /mnt/hub/blobs only has 12.58 MB free disk space.",
        source="https://github.com/huggingface/huggingface_hub/blob/main/src/huggingface_hub/file_download.py",
        about="node",
    ),
    Kind(
        name="disk-quota",
        needles=("Disk quota exceeded",),
        pattern=r"Disk quota exceeded(?:: '(?P<path>[^']+)')?",
        sample="OSError: [Errno 122] Disk quota exceeded: '/home/u/.cache/huggingface/hub/blobs/x.incomplete'",
        source="https://man7.org/linux/man-pages/man3/errno.3.html",
        about="node",
    ),
    Kind(
        name="read-only-write",
        needles=("Read-only file system",),
        pattern=r"Read-only file system(?:: '(?P<path>[^']+)')?",
        sample="OSError: [Errno 30] Read-only file system: '/models/.cache'",
        source="https://man7.org/linux/man-pages/man3/errno.3.html",
        about="node",
    ),
    Kind(
        name="filesystem-failed",
        needles=("Remounting filesystem read-only", "Filesystem has been shut down", "Shutting down filesystem", "Metadata corruption detected",
                 "forced readonly", "Log I/O Error"),
        pattern=r"(?P<fs>EXT4-fs|XFS|BTRFS)(?: \w+)? \((?:device )?(?P<device>[\w/-]+)[^)]*\):? ?.*?"
        r"(?P<what>Remounting filesystem read-only|Filesystem has been shut down|Shutting down filesystem|Log I/O Error"
        r"|Metadata corruption detected|forced readonly)",
        sample=(
            "EXT4-fs (nvme0n1p2): Remounting filesystem read-only",
            "XFS (sdb1): Filesystem has been shut down due to log error (0x2).",
        ),
        source=_KERNEL + "fs/ext4/super.c",
        about="node",
    ),
    Kind(
        name="filesystem-error",
        needles=("EXT4-fs error (device",),
        pattern=r"EXT4-fs error \(device (?P<device>[\w-]+)\):? ?(?:(?P<where>\w+):\d+)?",
        sample="EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm python3: reading directory lblock 0",
        source=_KERNEL + "fs/ext4/super.c",
        about="node",
    ),
    Kind(
        name="disk-io-error",
        needles=("I/O error, dev", "Buffer I/O error on dev", "medium error, dev", "critical target error, dev"),
        pattern=r"(?:I/O error, dev |Buffer I/O error on dev(?:ice)? |(?:critical )?(?:medium|target) error, dev )(?P<device>[\w-]+)",
        sample=(
            "[99.1] blk_update_request: I/O error, dev sdb, sector 123456 op 0x0:(READ) flags 0x80700",
            "[99.1] critical medium error, dev nvme1n1, sector 42 op 0x0:(READ)",
        ),
        source=_KERNEL + "block/blk-mq.c",
        about="node",
    ),
    Kind(
        name="nvme-timeout",
        needles=("timeout, aborting", "timeout, reset controller", "controller is down; will reset", "Device not ready; aborting reset"),
        pattern=r"nvme (?P<device>nvme\d+): (?P<what>I/O (?:tag )?\d+.*timeout, (?:aborting|reset controller)|controller is down; will reset"
        r"|Device not ready; aborting reset)",
        sample="[99.1] nvme nvme0: I/O 12 QID 3 timeout, aborting",
        source=_KERNEL + "drivers/nvme/host/pci.c",
        about="node",
    ),
    Kind(
        name="nfs-not-responding",
        needles=("not responding, still trying", "not responding, timed out"),
        pattern=r"nfs: server (?P<server>\S+) not responding, (?P<what>still trying|timed out)",
        sample="[99.1] nfs: server filer1 not responding, still trying",
        source=_KERNEL + "net/sunrpc/clnt.c",
        about="node",
    ),
    Kind(
        name="nfs-ok-again",
        needles=("nfs: server",),
        pattern=r"nfs: server (?P<server>\S+) OK",
        sample="[109.1] nfs: server filer1 OK",
        source=_KERNEL + "net/sunrpc/clnt.c",
        level="info",
        about="node",
    ),
    Kind(
        name="stale-file-handle",
        needles=("Stale file handle", "Stale NFS file handle"),
        pattern=r"Stale (?:NFS )?file handle(?:: '(?P<path>[^']+)')?",
        sample="OSError: [Errno 116] Stale file handle: '/models/llama/model-00001-of-00030.safetensors'",
        source="https://man7.org/linux/man-pages/man3/errno.3.html",
        about="node",
    ),
    Kind(
        name="model-file-cut-off",
        needles=("Error while deserializing header", "MetadataIncompleteBuffer", "HeaderTooLarge", "InvalidHeader"),
        pattern=r"Error while deserializing header: (?P<what>\w+)",
        sample=(
            "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        ),
        source="https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs",
        about="node",
    ),
    Kind(
        name='miopen-cache-malformed',
        needles=('database disk image is malformed', 'SQLite database'),
        pattern=r"(?P<error>database disk image is malformed|accessing SQLite database: database is locked)",
        sample='src/include/miopen/kern_db.hpp:147: Internal error while accessing SQLite database: database disk image is malformed',
        source='https://github.com/ROCm/MIOpen/issues/1878',
        level='error',
        about='service',
    ),
)  # fmt: skip
