"""Uses a client that openapi-python-client made of the service's document, as a program would."""

import base64
import io
import os
import tarfile
import zipfile

from generated import AuthenticatedClient, Client
from generated.api.admin_api import delete_file, list_projects, save_batch, save_file
from generated.api.read_api import (
    read_branches,
    read_branches_v4,
    read_commit_diff,
    read_commit_refs,
    read_commits,
    read_comparison,
    read_file,
    read_metadata,
    read_project,
    read_raw_file,
    read_tar_gz,
    read_tree,
    read_zip,
)
from generated.models import Error
from generated.types import File

url = os.environ["SITECONF_URL"]
project = os.environ["SITECONF_PROJECT"]
reader = AuthenticatedClient(
    base_url=url,
    token=os.environ["SITECONF_TOKEN"],
    prefix="",
    auth_header_name="PRIVATE-TOKEN",
    raise_on_unexpected_status=True,
)
cookies = {"siteconf_session": os.environ["SITECONF_SESSION"]}
admin = Client(base_url=url, cookies=cookies, raise_on_unexpected_status=True)

branches = read_branches.sync(client=reader, repo_id=project)
assert [branch.name for branch in branches] == ["main", "next"], branches
assert branches == read_branches_v4.sync(client=reader, repo_id=project)
head = branches[0].commit
assert head.id.startswith(head.short_id)
assert read_metadata.sync(client=reader).version.startswith("17.")
shown = read_project.sync(client=reader, repo_id=project)
assert (shown.default_branch, shown.tag_list) == ("main", []), shown
assert shown.permissions.project_access.access_level == 20

tree = read_tree.sync(client=reader, repo_id=project, ref="main", recursive=True, per_page=100)
assert "данные/прайс лист.bin" in [entry.path for entry in tree], tree
raw = read_raw_file.sync_detailed(client=reader, repo_id=project, path="settings.xml", ref="main")
assert raw.content == b'<settings currency="EUR"/>', raw
file = read_file.sync(client=reader, repo_id=project, path="settings.xml", ref="main")
assert base64.b64decode(file.content) == raw.content
assert raw.headers["X-Gitlab-Last-Commit-Id"] == file.last_commit_id
absent = read_file.sync(client=reader, repo_id=project, path="none", ref="main")
assert isinstance(absent, Error) and absent.message == "404 File Not Found", absent

commits = read_commits.sync(client=reader, repo_id=project, ref_name="main")
assert commits[0].id == head.id
diffs = read_commit_diff.sync(client=reader, repo_id=project, sha=file.last_commit_id, unidiff="yes")
assert [diff.new_path for diff in diffs] == ["settings.xml"], diffs
refs = read_commit_refs.sync(client=reader, repo_id=project, sha=head.id)
assert "main" in [ref.name for ref in refs], refs
compared = read_comparison.sync(
    client=reader, repo_id=project, from_="main@v0001", to="main", straight=False
)
assert compared.commit.id == head.id and len(compared.diffs) == 3, compared

archive = read_tar_gz.sync_detailed(client=reader, repo_id=project)
with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
    assert any(name.endswith("/settings.xml") for name in tar.getnames())
archive = read_zip.sync_detailed(client=reader, repo_id=project, path="config")
assert zipfile.ZipFile(io.BytesIO(archive.content)).testzip() is None

assert project in [shown.repo_id for shown in list_projects.sync(client=admin, per_page=5)]
at = {"repo_id": project, "ref": "next", "path": "made/by client.xml"}
for status in (201, 412):
    body = File(payload=io.BytesIO(b"<made/>"))
    saved = save_file.sync_detailed(client=admin, body=body, if_none_match="*", **at)
    assert saved.status_code == status, saved
deleted = delete_file.sync_detailed(client=admin, **at)
assert deleted.status_code == 200, deleted
# Of the kinds of files that a batch may be this generator's clients send the last one.
packed = io.BytesIO()
with zipfile.ZipFile(packed, mode="w") as archive:
    archive.writestr("in a zip.xml", "")
packed.seek(0)
done = save_batch.sync_detailed(
    client=admin, repo_id=project, ref="next", body=File(payload=packed)
)
assert done.status_code == 200, done
