# frozen_string_literal: true

# ruby-gitlab against the service: one line of output a row of the matrix (README).

require 'base64'
require 'digest'
require 'gitlab'
require 'json'
require 'time'

Encoding.default_external = Encoding::UTF_8
BASE = ENV.fetch('SITECONF_BASE')
TRUTH = JSON.parse(File.read(ENV.fetch('SITECONF_TRUTH')))
PROJECT, TOKENS, FILES, OTHER = TRUTH.values_at('project', 'tokens', 'files', 'other_branch')
NUMBER = PROJECT['number']

def connect(token = 'good', root = '/api/v4')
  # Its endpoint is the root of the API; it adds nothing.
  Gitlab.client(endpoint: BASE + root, private_token: TOKENS[token])
end

def equal(seen, wanted)
  raise "#{seen.inspect[0, 400]} is not #{wanted.inspect[0, 400]}" unless seen == wanted
end

def refused(kind, message)
  yield
rescue kind => e
  equal(e.response_message, message)
else
  raise "#{kind} was not raised"
end

def line(entry)
  equal(entry.name, entry.path.split('/').last)
  "#{entry.mode} #{entry.type} #{entry.id}\t#{entry.path}"
end

def content(file)
  Base64.strict_decode64(file['base64'])
end

def raw(api, file, ref = 'main', project = NUMBER)
  api.file_contents(project, file['path'], ref).to_s.b
end

API = connect
ROWS = {
  1 => -> { equal(connect.project(NUMBER).path_with_namespace, PROJECT['id']) },
  2 => lambda do
    bare = connect('good', '')
    equal(bare.project(PROJECT['id']).id, NUMBER)
    equal(bare.tree(NUMBER, recursive: true, per_page: 100).auto_paginate.map { |e| line(e) }.sort, TRUTH['tree'])
    equal(raw(bare, FILES[0]), content(FILES[0]))
  end,
  3 => -> { equal([API.user.username, API.user.id.class], [TRUTH['username'], Integer]) },
  4 => -> { equal(API.version.version.match?(/\A\d+\.\d+\.\d+(-|\z)/), true) },
  5 => -> { equal([API.project(NUMBER).id, API.project(NUMBER).default_branch], [NUMBER, 'main']) },
  6 => lambda do
    slug = TRUTH['slug']
    { NUMBER => NUMBER, PROJECT['id'] => NUMBER, slug['id'] => slug['number'] }.each do |name, number|
      equal(API.project(name).id, number)
      equal(API.branches(name).map(&:name).include?('main'), true)
    end
  end,
  7 => lambda do
    FILES.select { |file| file['path'].include?('/') }.each do |file|
      equal(raw(API, file, 'main', PROJECT['id']), content(file))
    end
  end,
  8 => lambda do
    folder = TRUTH['folder']
    equal(API.tree(NUMBER, path: folder['path']).map(&:name), folder['names'])
  end,
  10 => lambda do
    [100, 7].each do |per_page|
      first = API.tree(NUMBER, recursive: true, ref: 'main', per_page: per_page)
      equal(first.length, per_page)
      equal(first.auto_paginate.map { |entry| line(entry) }.sort, TRUTH['tree'])
    end
  end,
  12 => lambda do
    [100, 1000].each { |size| equal(API.tree(NUMBER, recursive: true, per_page: size, page: 1).length, 100) }
  end,
  13 => lambda do
    first = API.tree(NUMBER, recursive: true, pagination: 'keyset', per_page: 100)
    equal(first.length, 100)
    equal(first.auto_paginate.map { |entry| line(entry) }.sort, TRUTH['tree'])
  end,
  14 => lambda do
    equal(API.tree(NUMBER, recursive: true).length, TRUTH['tree'].length)
    equal(API.tree(NUMBER).none? { |entry| entry.path.include?('/') }, true)
  end,
  15 => lambda do
    # It reads what comes as JSON or XML into objects.
    FILES.each { |file| equal(API.file_contents(NUMBER, file['path'], 'main').class, String) }
  end,
  17 => lambda do
    FILES.product(%w[main HEAD]).each do |file, ref|
      seen = API.get_file(NUMBER, file['path'], ref)
      equal(Base64.strict_decode64(seen.content), content(file))
      equal([seen.file_name, seen.file_path, seen.size], [file['path'].split('/').last, file['path'], file['size']])
      equal([seen.encoding, seen.ref, seen.execute_filemode], ['base64', ref, false])
      equal([seen.content_sha256, seen.blob_id, seen.commit_id], [file['sha256'], file['blob_id'], TRUTH['commit_id']])
    end
  end,
  18 => lambda do
    refused(Gitlab::Error::NotFound, '404 invalid revision or path Not Found') do
      API.tree(NUMBER, path: 'no such/folder')
    end
    refused(Gitlab::Error::NotFound, '404 Tree Not Found') { API.tree(NUMBER, ref: 'no-such-branch') }
  end,
  19 => lambda do
    Time.iso8601(API.project(NUMBER).created_at)
    Time.iso8601(API.branch(NUMBER, 'main').commit.committed_date)
  end,
  # Every GET says `Content-Type: application/x-www-form-urlencoded`, a raw one `Accept: text/plain`.
  20 => -> { equal(raw(API, FILES[0]), content(FILES[0])) },
  # An unasked 206 or 304 would come back as a wrong or an empty body.
  22 => -> { 2.times { FILES.each { |file| equal(raw(API, file), content(file)) } } },
  23 => lambda do
    equal(API.branches(NUMBER, per_page: 20).auto_paginate.map(&:name), TRUTH['branches'])
    equal(API.branches(NUMBER).map(&:name), TRUTH['branches'])
    equal(API.branches(NUMBER, search: 'ЦЕНЫ').map(&:name), [OTHER['ref']])
    main = API.branch(NUMBER, 'main')
    equal([main.default, main.protected, main.merged], [true, true, false])
    equal([main.commit.id, main.commit.short_id], [TRUTH['commit_id'], TRUTH['commit_id'][0, 8]])
  end,
  24 => lambda do
    FILES.each do |file|
      equal(raw(API, file), content(file))
      equal(Base64.strict_decode64(API.get_file(NUMBER, file['path'], 'main').content), content(file))
    end
  end,
  25 => lambda do
    equal(raw(API, OTHER, OTHER['ref']), content(OTHER))
    equal(API.get_file(NUMBER, OTHER['path'], OTHER['ref']).content, OTHER['base64'])
    equal(API.branch(NUMBER, OTHER['ref']).name, OTHER['ref'])
    equal(API.tree(NUMBER, ref: OTHER['ref'], recursive: true).length, TRUTH['tree'].length)
  end,
  26 => lambda do
    error = Gitlab::Error
    refused(error::Unauthorized, '401 Unauthorized') { connect('unknown').user }
    refused(error::Forbidden, '403 Forbidden') { connect('elsewhere').branches(NUMBER) }
    refused(error::NotFound, '404 Project Not Found') { connect('everywhere').project('no-such.erp') }
    refused(error::NotFound, '404 File Not Found') { API.get_file(NUMBER, 'no such.txt', 'main') }
    refused(error::NotFound, '404 Commit Not Found') { API.get_file(NUMBER, 'no such.txt', 'no-such') }
    refused(error::NotFound, '404 Branch Not Found') { API.branch(NUMBER, 'no-such') }
  end
}.freeze

ROWS.each do |number, check|
  check.call
  puts "row #{number} ok"
rescue StandardError => e
  puts "row #{number} failed: #{e.class}: #{e.message}".tr("\n", ' ')[0, 900]
end
