"""Files of servers, named by their address: HTTP with and without ranges, and S3, all on loopback."""

from __future__ import annotations

import json
import shutil
import zipfile
from http import HTTPStatus
from pathlib import Path

import pytest
import recordings
from file_servers import http_server
from missing_modules import run_without

from gpuadvise.advisor.backends import remote_files

pytest.importorskip("fsspec", reason="pip install gpuadvise[remote]")
pytest.importorskip("aiohttp", reason="pip install gpuadvise[remote]")
RECORDED = Path(__file__).parent / "recorded"
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
XML = Path(__file__).parents[1] / "advisor" / "backends" / "recorded" / "nvidia-smi-h200.xml"
SOURCE = "__global__ void f(float* p, int n) { p[threadIdx.x * n] = 0.0f; }\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files for every command."""
    folder = tmp_path_factory.mktemp("served")
    recordings.unpack(folder / "all", ("nsys", "ranks"))
    for kind, pattern, count in (("nsys", "*.sqlite", 1), ("ranks", "*/rank*.json.gz", 2)):
        (folder / kind).mkdir()
        for trace in sorted((folder / "all").rglob(pattern))[:count]:
            shutil.copy(trace, folder / kind)
    shutil.rmtree(folder / "all")
    (folder / "dumps" / "rack").mkdir(parents=True)
    for number in range(4):
        lanes = "8x" if number == 3 else "16x"
        text = XML.read_text().replace("<current_link_width>16x", f"<current_link_width>{lanes}")
        (folder / "dumps" / "rack" / f"node{number}.xml").write_text(text)
    (folder / "dumps" / ".hidden.xml").write_text("no dump")
    (folder / "dumps" / "notes.md").write_text("no dump")
    (folder / "code").mkdir()
    shutil.copy(RECORDED / "80.cubin", folder / "code")
    shutil.copy(RECORDED / "libsmall.so", folder / "code" / "libsmall.so.1")
    with zipfile.ZipFile(folder / "code" / "small-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small/weights.dat", bytes(32 << 20))
        wheel.write(RECORDED / "libsmall.so", "small/libsmall.so", zipfile.ZIP_DEFLATED)
        wheel.writestr("small/more.dat", bytes(32 << 20))
    (folder / "reports").mkdir()
    shutil.copy(CORPUS / "report" / "small.ncu-rep", folder / "reports")
    (folder / "sources").mkdir()
    (folder / "sources" / "a.cu").write_text(SOURCE)
    (folder / "sources" / "b.py").write_text("import torch\n\nfor x in y:\n    x.cuda().item()\n")
    return folder


COMMANDS = {
    "fleet": ("fleet", "dumps/rack/node0.xml", "dumps/rack/node3.xml", "--show-hosts"),
    "trace": ("timeline", "ranks/rank0.json.gz", "ranks/rank1.json.gz"),
    "nsys": ("timeline", "nsys/*.sqlite"),
    "advise a run": ("advise", "ranks/rank0.json.gz"),
    "advise a report": ("advise", "reports/small.ncu-rep"),
    "advise sources": ("advise", "sources/a.cu", "sources/b.py"),
    "kernels": ("kernels", "code/80.cubin", "code/libsmall.so.1", "code/small-1.0-py3-none-any.whl"),
    "compat": ("compat", "code/libsmall.so.1", "code/small-1.0-py3-none-any.whl", "--gpu", "h100"),
    "lint": ("lint", "sources/a.cu", "sources/b.py"),
}  # fmt: skip


def said(cli, root: str, words: tuple[str, ...]) -> tuple[int, object]:
    """Return the exit code and the answer of a command on the files below *root*, called R in it."""
    there = [f"{root}/{word}" if "/" in word else word for word in words]
    if not root.startswith(("http", "s3")):  # as the shell would
        there = [str(next(Path(root).glob("nsys/*.sqlite"))) if "*" in w else w for w in there]
    ran = cli(*there, "--format", "json")
    return ran.code, json.loads(ran.out.replace(root, "R"))


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("ranges", [True, False], ids=("ranges", "whole"))
def test_the_answer_is_that_of_the_files(cli, files: Path, words, ranges: bool) -> None:
    with http_server(files, ranges=ranges) as server:
        assert said(cli, server.address, words) == said(cli, str(files), words)


def test_a_folder_counts_file_by_file(cli, files: Path) -> None:
    with http_server(files) as server:
        ran = cli("fleet", f"{server.address}/dumps/", "--format", "json", "--show-hosts")
        assert json.loads(ran.out)["result"]["counts"]["machines"] == 4
        ran = cli("fleet", f"{server.address}/dumps/*.xml")
        assert ran.code == 2
        assert f'There is no file to read in "{server.address}/dumps/*.xml".' in ran.err
        ran = cli("timeline", f"{server.address}/ranks/", "--format", "json")
        assert len(json.loads(ran.out)["result"]["others"]) == 1


def test_of_a_wheel_only_its_code_is_fetched(cli, files: Path) -> None:
    wheel = "code/small-1.0-py3-none-any.whl"
    with http_server(files) as server:
        assert cli("compat", f"{server.address}/{wheel}", "--gpu", "h100").code == 0
        assert server.sent < 1 << 20 < (files / wheel).stat().st_size


def test_names_have_no_password_and_no_signature(cli, files: Path) -> None:
    with http_server(files, secret="X-Sig=hush1") as server:
        address = server.address.replace("://", "://user:hush2@") + "/dumps/rack/node0.xml"
        for words in (
            ("fleet", f"{address}?X-Sig=hush1", "--show-hosts", "--format", "json"),
            ("fleet", f"{address}?X-Sig=hush3", "--fail-on", "high"),
            ("lint", f"{address.replace('node0.xml', 'none.cu')}?X-Sig=hush1"),
            ("advise", "--ncu", f"{address}?X-Sig=hush1"),
            ("compat", f"{address}?X-Sig=hush1", "--gpu", "h100"),
            ("timeline", f"{address}?X-Sig=hush1"),
        ):
            ran = cli(*words)
            assert "hush" not in ran.out + ran.err
            assert "/dumps/rack/no" in ran.out + ran.err or words[0] in ("compat", "timeline")


def test_two_addresses_of_one_name_are_two_files(files: Path) -> None:
    names = remote_files.located(["https://h/get?file=a", "https://h/get?file=b"], ())
    assert names == ["https://h/get", "https://h/get#2"]
    assert remote_files.located(["https://h/get?file=b"], ()) == names[1:]


def test_what_a_server_does_wrong_is_said(cli, files: Path, monkeypatch) -> None:
    with http_server(files) as server:
        address = f"{server.address}/dumps/rack/node0.xml"
        server.status, server.failures = HTTPStatus.SERVICE_UNAVAILABLE, 4
        assert "its server answered 503." in cli("fleet", address).err
        server.failures = 1  # another try
        assert cli("fleet", address).code == 0
        server.status, server.failures = HTTPStatus.FORBIDDEN, 4
        assert "this user may not." in cli("fleet", address).err
        server.failures, server.delay = 0, 2.0
        monkeypatch.setattr(remote_files, "_REQUEST_SECONDS", 0.2)
        assert "its server did not answer within 200 ms." in cli("fleet", address).err
    assert "its server could not be asked" in cli("fleet", f"{address}.gone").err


def test_what_has_no_ranges_is_bounded(cli, files: Path, monkeypatch) -> None:
    monkeypatch.setattr(remote_files, "_LARGEST_KEPT", 1 << 20)
    with http_server(files, ranges=False) as server:
        ran = cli("compat", f"{server.address}/code/small-1.0-py3-none-any.whl", "--gpu", "h100")
        assert ran.code == 2
        assert "its server has no ranges, and it is larger than 1 MiB." in ran.err


def test_sources_elsewhere_are_not_mended(cli, files: Path) -> None:
    ran = cli("lint", "--fix", "https://127.0.0.1/a.cu")
    assert ran.code == 2
    assert "--fix writes files of this machine alone." in ran.err
    assert cli("lint", "--watch", "1s", "https://127.0.0.1/a.cu").code == 2


@pytest.mark.parametrize(
    ("address", "missing"),
    [("s3://b/a.xml", "s3fs"), ("gs://b/a.xml", "gcsfs"), ("hf://d/r/a.xml", "huggingface_hub"),
     ("https://h/a.xml", "aiohttp"), ("https://h/a.xml", "fsspec")],
)  # fmt: skip
def test_without_the_packages_it_says_what_to_install(address: str, missing: str) -> None:
    ran = run_without((missing,), "timeline", address)
    assert ran.returncode == 3
    package = "aiohttp" if missing == "fsspec" else missing
    assert f"Install them: pip install fsspec {package}." in ran.stderr


def test_other_schemes_are_no_addresses(cli) -> None:
    ran = cli("timeline", "ftp://host/trace.json")
    assert "begin with s3://, gs://, https:// or hf://" in ran.err


def test_only_files_that_are_named_are_asked_for(
    cli, files: Path, tmp_path: Path, monkeypatch
) -> None:
    """An address in an option or in a project's settings is a file that is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(SOURCE)
    with http_server(files) as server:
        address = f"{server.address}/dumps/rack/node0.xml"
        (tmp_path / "gpuadvise.toml").write_text(f'baseline = "{address}"\n')
        for words in (
            ("lint", "a.cu"),
            ("lint", "a.cu", "--baseline", address),
            ("device", "--from", address),
            ("doctor", "--from", address),
            ("overlap", "--h2d", "1ms", "--calibration", address),
        ):
            assert cli(*words).code in (0, 2)
        assert server.asked == []


@pytest.fixture
def bucket(files: Path, monkeypatch) -> str:
    """Return the address of a bucket with the same files, of a server of S3 on loopback."""
    pytest.importorskip("s3fs", reason="pip install gpuadvise[remote]")
    moto = pytest.importorskip("moto.server", reason="pip install moto[server]")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    store.put(str(files) + "/", "bucket/", recursive=True)
    yield "s3://bucket"
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


def test_objects_of_s3(cli, files: Path, bucket: str) -> None:
    for words in COMMANDS.values():
        assert said(cli, bucket, words) == said(cli, str(files), words)
    ran = cli("fleet", f"{bucket}/dumps", "--format", "json", "--show-hosts")
    assert json.loads(ran.out)["result"]["counts"]["machines"] == 4
    ran = cli("kernels", f"{bucket}/none.cubin")
    assert (ran.code, "there is no such file" in ran.err) == (2, True)
    assert cli("kernels", "s3://other/").code == 2


def test_an_address_without_a_command_is_told_by_its_content(cli, files: Path) -> None:
    with http_server(files, secret="X-Sig=hush") as server:
        ran = cli(f"{server.address}/ranks/rank0.json.gz?X-Sig=hush")
        assert ran.code == 0
        assert f"gpuadvise advise {server.address}/ranks/rank0.json.gz" in ran.out + ran.err
        assert "hush" not in ran.out + ran.err
