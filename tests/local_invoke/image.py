"""The image in which `sam local invoke` runs the functions, with AWS_ENDPOINT_URL set to the emulator.

`--env-vars` overrides only what the template declares, and the template has no reason to declare AWS_ENDPOINT_URL; so
the address comes with the image, and the template is invoked as it was built. SAM is told of the image by
`--invoke-image`; the tags it keeps for itself are left alone.

The base is AWS's own image where the engine has it or can pull it, and SAM adds its runtime interface emulator as
always. Where there is no registry, a root file system of the host's C library, name service modules and CA
certificates with SAM's emulator is imported under the tag that SAM would give its own build.
"""

import contextlib
import io
import os
import platform
import re
import subprocess
import tarfile
from pathlib import Path

import docker
from samcli.lib.utils.architecture import ARM64, X86_64
from samcli.local.docker.lambda_image import LambdaImage, Runtime
from samcli.local.docker.utils import get_rapid_name

RUNTIME = "provided.al2023"
NAME = "cascata-local-invoke"
LIBRARIES = [
    "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libresolv.so.2",
    "libnss_files.so.2", "libnss_dns.so.2",
]
LOADERS = {X86_64: "/lib64/ld-linux-x86-64.so.2", ARM64: "/lib/ld-linux-aarch64.so.1"}
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n",
    "etc/group": "root:x:0:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def architecture():
    """The host's architecture by Lambda's name for it."""
    return ARM64 if platform.machine() in ("arm64", "aarch64") else X86_64


def prepare(client, endpoint):
    """Makes the image ready for this endpoint and returns the name for `--invoke-image`."""
    rapid_tag = f"rapid-{architecture()}"
    remove(client)
    base = base_image(client)
    if base:
        dockerfile = f"FROM {base}\nENV AWS_ENDPOINT_URL={endpoint}\n"
        client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=NAME, rm=True)
    else:
        changes = [f"ENV AWS_ENDPOINT_URL={endpoint}"]
        client.api.import_image_from_data(root_file_system(), repository=NAME, tag=rapid_tag, changes=changes)
        if not client.images.list(name=f"{NAME}:{rapid_tag}"):
            raise RuntimeError("the engine did not import the image")
    return NAME


def remove(client):
    """Takes the images away again, ours and the one SAM built from it."""
    for tag in (f"{NAME}:rapid-{architecture()}", f"{NAME}:latest"):
        with contextlib.suppress(docker.errors.ImageNotFound):
            client.images.remove(tag, force=True)


def base_image(client):
    """AWS's image for the runtime, pulled if need be; None where no registry answers."""
    name = f"{LambdaImage._INVOKE_REPO_PREFIX}/{Runtime.get_image_name_tag(RUNTIME, architecture())}"
    with contextlib.suppress(docker.errors.ImageNotFound):
        client.images.get(name)
        return name
    with contextlib.suppress(docker.errors.APIError):
        client.images.pull(name)
        return name
    return None


def root_file_system():
    """A tar file of the little that a Rust function and SAM's runtime interface emulator need."""
    if platform.system() != "Linux":
        raise SystemExit(f"image: no registry answers, and a {platform.system()} host has no Linux libraries to use.")
    target = architecture()
    emulator = Path(LambdaImage._RAPID_SOURCE_PATH) / get_rapid_name(target)
    files = {LOADERS[target]: Path(LOADERS[target]), "/var/rapid/aws-lambda-rie": emulator}
    known = known_libraries()
    for name in LIBRARIES:
        # Newer C libraries hold some of these themselves.
        if name in known:
            files[str(known[name])] = known[name]
    for place in (CERTIFICATES, "/etc/pki/tls/certs/ca-bundle.crt"):
        if os.path.exists(CERTIFICATES):
            files[place] = Path(CERTIFICATES)

    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for folder, mode in {"tmp": 0o1777, "var/task": 0o755, "opt": 0o755, "root": 0o700}.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        for name, text in TEXTS.items():
            add(tar, name, text.encode(), 0o644)
        for name, path in files.items():
            add(tar, name.removeprefix("/"), path.resolve().read_bytes(), 0o755)
    return output.getvalue()


def add(tar, name, data, mode):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def known_libraries():
    """The host's libraries by name, of the host's own architecture, as its loader knows them."""
    marks = {X86_64: "x86-64", ARM64: "AArch64"}
    listing = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True, env={"PATH": "/usr/sbin:/sbin"}
    ).stdout
    found = {}
    for name, kind, path in re.findall(r"^\s+(\S+) \(([^)]*)\) => (\S+)$", listing, re.MULTILINE):
        if marks[architecture()] in kind:
            found.setdefault(name, Path(path))
    return found
