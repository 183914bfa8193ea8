# GitLab::API::v4 against the service: one line of output a row of the matrix (README).
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Encode qw(encode_utf8);
use GitLab::API::v4;
use JSON qw(decode_json);
use MIME::Base64 qw(decode_base64);

# Everything is bytes: this client escapes a path byte by byte.
my $truth = bytes(decode_json(slurp($ENV{SITECONF_TRUTH})));
my ($project, $tokens, $files, $other) = @$truth{qw(project tokens files other_branch)};
my $number = $project->{number};
my $api = client('good');

my %rows = (
    1 => sub { equal(path_of($api), $project->{id}) },
    2 => sub {
        my $bare = client('good', '');
        equal(path_of($bare), $project->{id});
        my $walk = $bare->paginator('tree', $number, { recursive => 1, per_page => 100 });
        equal(tree_lines($walk->all), join("\n", @{ $truth->{tree} }));
        equal(raw($bare, $files->[0], 'main'), decode_base64($files->[0]{base64}));
    },
    3 => sub { equal($api->current_user->{username}, $truth->{username}) },
    4 => sub { equal($api->version->{version} =~ /^\d+\.\d+\.\d+(-|$)/ ? 1 : 0, 1) },
    5 => sub {
        my $found = $api->project($number);
        equal("$found->{id} $found->{default_branch}", "$number main");
    },
    6 => sub {
        my $slug = $truth->{slug};
        for ([$number, $number], [$project->{id}, $number], [$slug->{id}, $slug->{number}]) {
            my ($name, $wanted) = @$_;
            equal($api->project($name)->{id}, $wanted);
            equal(scalar(grep { $_->{name} eq 'main' } @{ $api->branches($name) }), 1);
        }
    },
    7 => sub {
        for my $file (grep { $_->{path} =~ m{/} } @$files) {
            my $seen = $api->raw_file($project->{id}, $file->{path}, { ref => 'main' });
            equal($seen, decode_base64($file->{base64}));
        }
    },
    8 => sub {
        my $seen = $api->tree($number, { path => $truth->{folder}{path} });
        my @names = map { encode_utf8($_->{name}) } @$seen;
        equal("@names", "@{ $truth->{folder}{names} }");
    },
    # It asks for the next page until one is shorter than what it asked for.
    12 => sub {
        for my $per_page (100, 7) {
            my $params = { recursive => 1, ref => 'main', per_page => $per_page };
            equal(tree_lines($api->paginator('tree', $number, $params)->all), join("\n", @{ $truth->{tree} }));
        }
        my $names = $api->paginator('branches', $number, { per_page => 20 })->all;
        equal(scalar(@$names), scalar(@{ $truth->{branches} }));
    },
    14 => sub {
        equal(tree_lines($api->tree($number, { recursive => 1 })), join("\n", @{ $truth->{tree} }));
        equal(scalar(grep { $_->{path} =~ m{/} } @{ $api->tree($number) }), 0);
    },
    16 => sub {
        for my $file (@$files) {
            $api->file($number, $file->{path}, { ref => 'main' });
            my $headers = $api->rest_client->http_tiny_response->{headers};
            equal($headers->{'x-gitlab-file-path'}, $file->{path});
            equal($headers->{'x-gitlab-file-name'}, $file->{path} =~ s{.*/}{}r);
            equal($headers->{'x-gitlab-size'}, $file->{size});
            equal($headers->{'x-gitlab-encoding'}, 'base64');
            equal($headers->{'x-gitlab-content-sha256'}, $file->{sha256});
            equal($headers->{'x-gitlab-ref'}, 'main');
            equal($headers->{'x-gitlab-blob-id'}, $file->{blob_id});
            equal($headers->{'x-gitlab-commit-id'}, $truth->{commit_id});
        }
    },
    17 => sub {
        for my $file (@$files) {
            for my $ref ('main', 'HEAD') {
                my $seen = bytes($api->file($number, $file->{path}, { ref => $ref }));
                equal(join("\n", @$seen{qw(file_path size encoding content_sha256 ref blob_id commit_id content)}),
                    join("\n", @$file{qw(path size)}, 'base64', $file->{sha256}, $ref, $file->{blob_id},
                        $truth->{commit_id}, $file->{base64}));
            }
        }
    },
    # What it calls a 404 is `undef`.
    18 => sub {
        missing($api->tree($number, { path => 'no such/folder' }), '404 invalid revision or path Not Found');
        missing($api->tree($number, { ref => 'no-such-branch' }), '404 Tree Not Found');
    },
    23 => sub {
        my @names = map { encode_utf8($_->{name}) } @{ $api->branches($number) };
        equal("@names", "@{ $truth->{branches} }");
        my $found = $api->branches($number, { search => encode_utf8("\x{426}\x{415}\x{41d}\x{42b}") });
        equal(join(' ', map { encode_utf8($_->{name}) } @$found), $other->{ref});
        my $main = $api->branch($number, 'main');
        equal("$main->{commit}{id} $main->{commit}{short_id}",
            "$truth->{commit_id} " . substr($truth->{commit_id}, 0, 8));
        equal(($main->{default} && $main->{protected} && !$main->{merged}) ? 1 : 0, 1);
    },
    24 => sub {
        for my $file (@$files) {
            equal(raw($api, $file, 'main'), decode_base64($file->{base64}));
            equal($api->file($number, $file->{path}, { ref => 'main' })->{content}, $file->{base64});
            equal($api->blob($number, $file->{blob_id})->{content}, $file->{base64});
            equal(sha256_hex(raw($api, $file, 'main')), $file->{sha256});
        }
    },
    25 => sub {
        equal(raw($api, $other, $other->{ref}), decode_base64($other->{base64}));
        equal($api->file($number, $other->{path}, { ref => $other->{ref} })->{content}, $other->{base64});
        equal(encode_utf8($api->branch($number, $other->{ref})->{name}), $other->{ref});
        my $tree = $api->tree($number, { ref => $other->{ref}, recursive => 1 });
        equal(scalar(@$tree), scalar(@{ $truth->{tree} }));
    },
    26 => sub {
        refused(qr/HTTP 401.*401 Unauthorized/, sub { client('unknown')->current_user });
        refused(qr/HTTP 403.*403 Forbidden/, sub { client('elsewhere')->branches($number) });
        my $everywhere = client('everywhere');
        missing($everywhere->project('no-such.erp'), '404 Project Not Found', $everywhere);
        missing($api->file($number, 'no such.txt', { ref => 'main' }), '404 File Not Found');
        missing($api->file($number, 'no such.txt', { ref => 'no-such' }), '404 Commit Not Found');
        missing($api->branch($number, 'no-such'), '404 Branch Not Found');
    },
);

for my $row (sort { $a <=> $b } keys %rows) {
    my $error = eval { $rows{$row}->(); 1 } ? undef : ($@ =~ s/\n/ /gr);
    print defined $error ? "row $row failed: " . substr($error, 0, 900) . "\n" : "row $row ok\n";
}

sub client {
    my ($token, $root) = @_;
    # Its url is the root of the API; it adds nothing.
    return GitLab::API::v4->new(
        url => $ENV{SITECONF_BASE} . ($root // '/api/v4'),
        private_token => $tokens->{$token},
    );
}

sub path_of { return $_[0]->project($number)->{path_with_namespace} }

sub raw {
    my ($client, $file, $ref) = @_;
    return $client->raw_file($number, $file->{path}, { ref => $ref });
}

sub tree_lines {
    my @lines = map { encode_utf8("$_->{mode} $_->{type} $_->{id}\t$_->{path}") } @{ $_[0] };
    return join("\n", sort @lines);
}

sub equal {
    my ($seen, $wanted) = @_;
    die substr($seen // 'undef', 0, 400) . ' is not ' . substr($wanted, 0, 400) . "\n"
        unless defined $seen && $seen eq $wanted;
    return;
}

sub missing {
    my ($seen, $message, $client) = @_;
    my $response = ($client // $api)->rest_client->http_tiny_response;
    equal(defined $seen ? 'something' : 'nothing', 'nothing');
    equal("$response->{status} " . decode_json($response->{content})->{message}, "404 $message");
    return;
}

sub refused {
    my ($wanted, $call) = @_;
    die "no error came\n" if eval { $call->(); 1 };
    die "another error: $@\n" unless $@ =~ $wanted;
    return;
}

# The same value with every text as bytes.
sub bytes {
    my ($value) = @_;
    return [map { bytes($_) } @$value] if ref $value eq 'ARRAY';
    return { map { $_ => bytes($value->{$_}) } keys %$value } if ref $value eq 'HASH';
    return ref $value || !defined $value ? $value : encode_utf8($value);
}

sub slurp {
    open my $file, '<:raw', $_[0] or die "$_[0]: $!";
    local $/ = undef;
    return scalar <$file>;
}
