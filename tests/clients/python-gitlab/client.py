"""python-gitlab against the service: one line of output a row of the matrix (README)."""

import base64
import hashlib
import json
import os
from datetime import datetime

import gitlab
from gitlab.utils import EncodedId

BASE = os.environ["SITECONF_BASE"]
with open(os.environ["SITECONF_TRUTH"], encoding="utf-8") as file:
    TRUTH = json.load(file)
PROJECT = TRUTH["project"]
TOKENS = TRUTH["tokens"]
# To a proxy that decodes, a file `raw` in a folder and the raw form of the folder's name are one.
DECODING = os.environ["SITECONF_PROXY"] == "decoding"
SPECIAL = [file for file in TRUTH["files"] if not (DECODING and file["path"].endswith("/raw"))]
OTHER = TRUTH["other_branch"]


def connect(token=TOKENS["good"]):
    return gitlab.Gitlab(BASE, private_token=token)


def equal(seen, wanted):
    assert seen == wanted, f"{seen!r:.600} is not {wanted!r:.600}"


def refused(status, kind, call):
    try:
        call()
    except kind as error:
        equal(error.response_code, status)
        return error.error_message
    raise AssertionError(f"{status} was not raised")


def line(entry):
    equal(entry["name"], entry["path"].split("/")[-1])
    return f"{entry['mode']} {entry['type']} {entry['id']}\t{entry['path']}"


def project():
    return connect().projects.get(PROJECT["number"])


def row_1():
    found = project()
    equal(found.path_with_namespace, PROJECT["id"])


def row_3():
    gl = connect()
    gl.auth()
    equal(gl.user.username, TRUTH["username"])
    assert type(gl.user.id) is int


def row_4():
    version, revision = connect().version()
    assert [int(part) for part in version.split("-")[0].split(".")][2:], version
    assert revision != "unknown", "the client could not read the version"


def row_5():
    found = project()
    equal((found.id, type(found.id)), (PROJECT["number"], int))
    equal(found.default_branch, "main")


def row_6():
    gl = connect()
    slug = TRUTH["slug"]
    wanted = {
        PROJECT["number"]: PROJECT["number"],
        PROJECT["id"]: PROJECT["number"],
        slug["id"]: slug["number"],
    }
    for name, number in wanted.items():
        equal(gl.projects.get(name).id, number)


def row_7():
    for file in SPECIAL:
        if "/" in file["path"]:
            equal(project().files.raw(file["path"], ref="main"), content(file))


def row_8():
    folder = TRUTH["folder"]
    seen = project().repository_tree(path=folder["path"], ref="main", get_all=True)
    equal([entry["name"] for entry in seen], folder["names"])


def row_10():
    equal(len(project().repository_tree(recursive=True, per_page=7, get_all=False)), 7)
    walk = project().repository_tree(recursive=True, ref="main", per_page=100, iterator=True)
    equal(sorted(map(line, walk)), TRUTH["tree"])
    walk = project().repository_tree(recursive=True, iterator=True, per_page=7)
    equal(sorted(map(line, walk)), TRUTH["tree"])


def row_11():
    walk = project().repository_tree(recursive=True, per_page=100, iterator=True)
    count = len(TRUTH["tree"])
    equal((walk.current_page, walk.prev_page, walk.next_page), (1, None, 2))
    equal((walk.per_page, walk.total, walk.total_pages), (100, count, (count + 99) // 100))


def row_12():
    seen = project().repository_tree(recursive=True, per_page=100, page=1)
    equal(len(seen), 100)
    equal(len(project().repository_tree(recursive=True, per_page=1000, page=1)), 100)


def row_13():
    first = project().repository_tree(
        recursive=True, pagination="keyset", per_page=100, get_all=False
    )
    equal(len(first), 100)
    walk = project().repository_tree(
        recursive=True, pagination="keyset", per_page=100, iterator=True
    )
    equal(sorted(map(line, walk)), TRUTH["tree"])


def row_14():
    shallow = project().repository_tree(get_all=True)
    deep = project().repository_tree(recursive=True, get_all=True)
    equal(len(shallow), len({path.split("\t")[1].split("/")[0] for path in TRUTH["tree"]}))
    equal(len(deep), len(TRUTH["tree"]))


def row_15():
    path = "/projects/{}/repository/files/{}/raw"
    for file in SPECIAL:
        answer = connect().http_get(path.format(PROJECT["number"], EncodedId(file["path"])), raw=True)
        equal(answer.headers["Content-Type"], "text/plain; charset=utf-8")


def row_16():
    for file in SPECIAL:
        if gitlab.__version__.startswith("3."):
            # Its `files.head` asks for another address (an error of that version).
            path = EncodedId(file["path"])
            headers = connect().http_head(
                f"/projects/{PROJECT['number']}/repository/files/{path}", query_data={"ref": "main"}
            )
        else:
            headers = project().files.head(file["path"], ref="main")
        of = lambda name: headers["X-Gitlab-" + name].encode("latin-1").decode("utf-8")
        equal(of("File-Name"), file["path"].split("/")[-1])
        equal(of("File-Path"), file["path"])
        equal(of("Size"), str(file["size"]))
        equal(of("Encoding"), "base64")
        equal(of("Content-Sha256"), file["sha256"])
        equal(of("Ref"), "main")
        equal(of("Blob-Id"), file["blob_id"])
        equal(of("Commit-Id"), TRUTH["commit_id"])
        assert len(of("Last-Commit-Id")) == 40
        equal(of("Execute-Filemode"), "false")


def row_17():
    for file in SPECIAL:
        for ref in ("main", "HEAD"):
            seen = project().files.get(file["path"], ref=ref)
            equal(seen.decode(), content(file))
            equal(seen.file_name, file["path"].split("/")[-1])
            equal(
                (seen.file_path, seen.size, seen.encoding, seen.ref),
                (file["path"], file["size"], "base64", ref),
            )
            equal(
                (seen.content_sha256, seen.blob_id, seen.commit_id),
                (file["sha256"], file["blob_id"], TRUTH["commit_id"]),
            )


def row_18():
    missing = lambda **query: lambda: project().repository_tree(get_all=True, **query)
    kind = gitlab.exceptions.GitlabGetError
    equal(
        refused(404, kind, missing(path="no such/folder")),
        "404 invalid revision or path Not Found",
    )
    equal(refused(404, kind, missing(ref="no-such-branch")), "404 Tree Not Found")


def row_19():
    found = project()
    for moment in (found.created_at, found.last_activity_at):
        assert datetime.fromisoformat(moment.replace("Z", "+00:00")).tzinfo, moment
    branch = found.branches.get("main")
    assert datetime.fromisoformat(branch.commit["committed_date"].replace("Z", "+00:00")).tzinfo
    equal((type(branch.commit["id"]), branch.commit["trailers"]), (str, {}))


def row_20():
    # Every GET of this client says `Content-Type: application/json` and has no body.
    equal(project().files.raw(SPECIAL[0]["path"], ref="main"), content(SPECIAL[0]))


def row_23():
    branches = project().branches.list(iterator=True, per_page=20)
    equal([branch.name for branch in branches], TRUTH["branches"])
    equal([branch.name for branch in project().branches.list(get_all=True)], TRUTH["branches"])
    equal([b.name for b in project().branches.list(search="ЦЕНЫ", get_all=True)], [OTHER["ref"]])
    main = project().branches.get("main")
    equal((main.default, main.protected, main.merged), (True, True, False))
    equal(main.commit["id"], TRUTH["commit_id"])
    equal(main.commit["short_id"], TRUTH["commit_id"][:8])


def row_24():
    for file in SPECIAL:
        equal(project().files.raw(file["path"], ref="main"), content(file))
        equal(project().files.get(file["path"], ref="main").decode(), content(file))
        digest = hashlib.sha256(project().repository_raw_blob(file["blob_id"])).hexdigest()
        equal(digest, file["sha256"])


def row_25():
    seen = project().files.raw(OTHER["path"], ref=OTHER["ref"])
    equal(seen, base64.b64decode(OTHER["base64"]))
    equal(project().files.get(OTHER["path"], ref=OTHER["ref"]).decode(), seen)
    equal(project().branches.get(OTHER["ref"]).name, OTHER["ref"])
    entries = project().repository_tree(ref=OTHER["ref"], recursive=True, get_all=True)
    equal(len(entries), len(TRUTH["tree"]))


def row_26():
    unknown = connect(TOKENS["unknown"])
    kind = gitlab.exceptions.GitlabAuthenticationError
    equal(refused(401, kind, unknown.auth), "401 Unauthorized")
    elsewhere = connect(TOKENS["elsewhere"])
    kind = gitlab.exceptions.GitlabGetError
    equal(refused(403, kind, lambda: elsewhere.projects.get(PROJECT["number"])), "403 Forbidden")
    everywhere = connect(TOKENS["everywhere"])
    equal(
        refused(404, kind, lambda: everywhere.projects.get("no-such.erp")),
        "404 Project Not Found",
    )
    file = lambda name, ref: lambda: project().files.get(name, ref=ref)
    equal(refused(404, kind, file("no such.txt", "main")), "404 File Not Found")
    equal(refused(404, kind, file("no such.txt", "no-such")), "404 Commit Not Found")
    equal(
        refused(404, kind, lambda: project().branches.get("no-such")),
        "404 Branch Not Found",
    )


def content(file):
    return base64.b64decode(file["base64"])


for name, check in sorted(globals().copy().items()):
    if name.startswith("row_"):
        number = int(name.removeprefix("row_"))
        try:
            check()
            print(f"row {number} ok")
        except Exception as error:
            print(f"row {number} failed: {type(error).__name__}: {error}".replace("\n", " "))
