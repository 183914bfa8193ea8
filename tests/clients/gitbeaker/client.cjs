// @gitbeaker/rest against the service: one line of output a row of the matrix (README).
'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const fs = require('node:fs');
const { Gitlab } = require('@gitbeaker/rest');
const { GitbeakerRequestError } = require('@gitbeaker/requester-utils');

const base = process.env.SITECONF_BASE;
const truth = JSON.parse(fs.readFileSync(process.env.SITECONF_TRUTH, 'utf8'));
const { project, slug, tokens, files, other_branch: other } = truth;

const connect = (token = tokens.good, host = base) => new Gitlab({ host, token });
const api = connect();
const number = project.number;

const content = (file) => Buffer.from(file.base64, 'base64');
const line = ({ mode, type, id, path }) => `${mode} ${type} ${id}\t${path}`;
// By code points, as the truth is sorted; every name here is of the basic plane.
const lines = (entries) => entries.map(line).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

async function refused(status, message, call) {
  await assert.rejects(call, (error) => {
    assert(error instanceof GitbeakerRequestError, `${error}`);
    assert.equal(error.cause.response.status, status);
    assert.equal(error.cause.description, message);
    return true;
  });
}

const rows = {
  async 1() {
    assert.equal((await api.Projects.show(number)).path_with_namespace, project.id);
  },
  async 3() {
    const user = await api.Users.showCurrentUser();
    assert.equal(user.username, truth.username);
    assert.equal(typeof user.id, 'number');
  },
  async 4() {
    // It asks `/metadata`, which says the same.
    const { version, revision } = await api.Metadata.show();
    assert.match(version, /^\d+\.\d+\.\d+(-|$)/);
    assert.equal(typeof revision, 'string');
  },
  async 5() {
    const found = await api.Projects.show(number);
    assert.equal(found.id, number);
    assert.equal(found.default_branch, 'main');
  },
  async 6() {
    for (const [name, wanted] of [[number, number], [project.id, number], [slug.id, slug.number]]) {
      assert.equal((await api.Projects.show(name)).id, wanted);
      assert((await api.Branches.all(name)).some((branch) => branch.name === 'main'));
    }
  },
  async 7() {
    for (const file of files.filter(({ path }) => path.includes('/'))) {
      const seen = await api.RepositoryFiles.showRaw(project.id, file.path, 'main');
      assert.equal(seen, content(file).toString());
    }
  },
  async 8() {
    const seen = await api.Repositories.allRepositoryTrees(number, { path: truth.folder.path });
    assert.deepEqual(seen.map((entry) => entry.name), truth.folder.names);
  },
  async 10() {
    for (const perPage of [100, 7]) {
      const options = { recursive: true, ref: 'main', perPage };
      const first = { ...options, maxPages: 1 };
      assert.equal((await api.Repositories.allRepositoryTrees(number, first)).length, perPage);
      const seen = await api.Repositories.allRepositoryTrees(number, options);
      assert.deepEqual(lines(seen), truth.tree);
    }
  },
  async 11() {
    const options = { recursive: true, perPage: 100, page: 2, showExpanded: true };
    const { paginationInfo } = await api.Repositories.allRepositoryTrees(number, options);
    const total = truth.tree.length;
    assert.deepEqual(paginationInfo, {
      total,
      next: 3,
      current: 2,
      previous: 1,
      perPage: 100,
      totalPages: Math.ceil(total / 100),
    });
  },
  async 12() {
    for (const perPage of [100, 1000]) {
      const options = { recursive: true, perPage, page: 1 };
      assert.equal((await api.Repositories.allRepositoryTrees(number, options)).length, 100);
    }
  },
  async 13() {
    const options = { recursive: true, pagination: 'keyset', perPage: 100 };
    const first = { ...options, maxPages: 1 };
    assert.equal((await api.Repositories.allRepositoryTrees(number, first)).length, 100);
    const seen = await api.Repositories.allRepositoryTrees(number, options);
    assert.deepEqual(lines(seen), truth.tree);
  },
  async 14() {
    const deep = await api.Repositories.allRepositoryTrees(number, { recursive: true });
    assert.equal(deep.length, truth.tree.length);
    const shallow = await api.Repositories.allRepositoryTrees(number, { recursive: false });
    assert(shallow.every(({ path }) => !path.includes('/')));
  },
  async 15() {
    // It makes an object of what comes as `application/json`, and a Blob of what is not text.
    const json = files.filter(({ path }) => path.endsWith('.json'));
    assert.notEqual(json.length, 0);
    for (const file of files) {
      const seen = await api.RepositoryFiles.showRaw(number, file.path, 'main');
      assert.equal(typeof seen, 'string', file.path);
    }
  },
  async 16() {
    for (const file of files) {
      const options = { showExpanded: true };
      const { headers } = await api.RepositoryFiles.show(number, file.path, 'main', options);
      const of = (name) => Buffer.from(headers[`x-gitlab-${name}`], 'latin1').toString('utf8');
      assert.equal(of('file-name'), file.path.split('/').at(-1));
      assert.equal(of('file-path'), file.path);
      assert.equal(of('size'), `${file.size}`);
      assert.equal(of('encoding'), 'base64');
      assert.equal(of('content-sha256'), file.sha256);
      assert.equal(of('ref'), 'main');
      assert.equal(of('blob-id'), file.blob_id);
      assert.equal(of('commit-id'), truth.commit_id);
      assert.match(of('last-commit-id'), /^[0-9a-f]{40}$/);
      assert.equal(of('execute-filemode'), 'false');
    }
  },
  async 17() {
    for (const file of files) {
      for (const ref of ['main', 'HEAD']) {
        const seen = await api.RepositoryFiles.show(number, file.path, ref);
        assert.equal(typeof seen.last_commit_id, 'string');
        delete seen.last_commit_id;
        assert.deepEqual(seen, {
          file_name: file.path.split('/').at(-1),
          file_path: file.path,
          size: file.size,
          encoding: 'base64',
          content_sha256: file.sha256,
          ref,
          blob_id: file.blob_id,
          commit_id: truth.commit_id,
          execute_filemode: false,
          content: file.base64,
        });
      }
    }
  },
  async 18() {
    const tree = (options) => () => api.Repositories.allRepositoryTrees(number, options);
    await refused(404, '404 invalid revision or path Not Found', tree({ path: 'no such/folder' }));
    await refused(404, '404 Tree Not Found', tree({ ref: 'no-such-branch' }));
  },
  async 20() {
    // `Accept: */*`, `accept-language`, `sec-fetch-mode` come with every request.
    assert.equal((await api.Branches.show(number, 'main')).name, 'main');
  },
  async 21() {
    // A base with a slash at its end makes `//api/v4/`.
    const slashed = connect(tokens.good, `${base}/`);
    assert.equal((await slashed.Projects.show(project.id)).id, number);
    const seen = await slashed.RepositoryFiles.showRaw(number, files[0].path, 'main');
    assert.equal(seen, content(files[0]).toString());
    const tree = await slashed.Repositories.allRepositoryTrees(number, {
      recursive: true,
      perPage: 100,
    });
    assert.deepEqual(lines(tree), truth.tree);
  },
  async 23() {
    for (const options of [{}, { perPage: 20 }]) {
      const branches = await api.Branches.all(number, options);
      assert.deepEqual(branches.map(({ name }) => name), truth.branches);
    }
    const found = await api.Branches.all(number, { search: 'ЦЕНЫ' });
    assert.deepEqual(found.map(({ name }) => name), [other.ref]);
    const main = await api.Branches.show(number, 'main');
    assert.deepEqual([main.default, main.protected, main.merged], [true, true, false]);
    assert.equal(main.commit.id, truth.commit_id);
    assert.equal(main.commit.short_id, truth.commit_id.slice(0, 8));
  },
  async 24() {
    for (const file of files) {
      const raw = await api.RepositoryFiles.showRaw(number, file.path, 'main');
      assert.equal(raw, content(file).toString());
      const json = await api.RepositoryFiles.show(number, file.path, 'main');
      assert.equal(json.content, file.base64);
      const blob = await api.Repositories.showBlobRaw(number, file.blob_id);
      const digest = crypto.createHash('sha256').update(blob).digest('hex');
      assert.equal(digest, file.sha256);
    }
  },
  async 25() {
    const seen = await api.RepositoryFiles.showRaw(number, other.path, other.ref);
    assert.equal(seen, content(other).toString());
    const json = await api.RepositoryFiles.show(number, other.path, other.ref);
    assert.equal(json.content, other.base64);
    assert.equal((await api.Branches.show(number, other.ref)).name, other.ref);
    const options = { ref: other.ref, recursive: true, perPage: 100 };
    const tree = await api.Repositories.allRepositoryTrees(number, options);
    assert.equal(tree.length, truth.tree.length);
  },
  async 26() {
    const unknown = connect(tokens.unknown);
    await refused(401, '401 Unauthorized', () => unknown.Users.showCurrentUser());
    await refused(401, '401 Unauthorized', () => unknown.Projects.show(number));
    const elsewhere = connect(tokens.elsewhere);
    await refused(403, '403 Forbidden', () => elsewhere.Branches.all(number));
    const everywhere = connect(tokens.everywhere);
    await refused(404, '404 Project Not Found', () => everywhere.Projects.show('no-such.erp'));
    const file = (path, ref) => () => api.RepositoryFiles.show(number, path, ref);
    await refused(404, '404 File Not Found', file('no such.txt', 'main'));
    await refused(404, '404 Commit Not Found', file('no such.txt', 'no-such'));
    await refused(404, '404 Branch Not Found', () => api.Branches.show(number, 'no-such'));
  },
};

(async () => {
  for (const [row, check] of Object.entries(rows)) {
    try {
      await check();
      console.log(`row ${row} ok`);
    } catch (error) {
      console.log(`row ${row} failed: ${error}`.replaceAll('\n', ' ').slice(0, 900));
    }
  }
})();
