//! Hostile input, row by row: of HTTP (H), of names (P), and of who is let in (T). A test here has the number
//! of its row in its name; where the others are tried is in [`ROWS`].

mod access;
mod http;
mod names;

use std::fs;
use std::path::Path;

/// Each row, the file below `tests` or `src` in which it is tried, and the test; of a journey of the page the
/// file alone.
#[rustfmt::skip]
const ROWS: &[(&str, &str, &str)] = &[
    ("H01 no Host", "it/transport_heads.rs", "a_request_names_one_well_formed_host"),
    ("H02 two Host", "it/transport_heads.rs", "a_request_names_one_well_formed_host"),
    ("H03 a Host that is not ours", "it/names.rs", "only_the_names_of_the_service_are_answered"),
    ("H04 absolute targets", "it/transport_heads.rs",
        "an_absolute_target_is_routed_by_its_path_if_it_names_the_same_host"),
    ("H05 the target *", "it/transport_heads.rs", "the_server_itself_can_be_asked_for_its_options_only"),
    ("H06 CONNECT", "it/transport_heads.rs", "a_tunnel_is_refused"),
    ("H07 TRACE", "it/matrix/mod.rs", "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("H08 methods of nobody", "it/transport_heads.rs", "an_unknown_method_is_not_implemented"),
    ("H09 HEAD", "it/conditions.rs", "head_answers_what_get_would_without_the_body"),
    ("H10 OPTIONS", "it/transport_heads.rs", "a_known_target_names_the_methods_it_takes"),
    ("H11 HTTP/1.0", "it/transport_heads.rs", "a_probe_of_http_1_0_needs_no_host"),
    ("H12 other versions", "it/hostile/http.rs", "h12_versions_that_are_not_spoken"),
    ("H13 bytes of no target", "it/transport_heads.rs", "bytes_that_no_target_may_hold_are_refused"),
    ("H14 raw UTF-8", "it/transport_heads.rs", "bytes_that_no_target_may_hold_are_refused"),
    ("H15 bad escapes", "it/transport_heads.rs", "bad_escapes_are_refused_everywhere"),
    ("H16 fragments", "it/hostile/http.rs", "h16_a_number_sign_in_a_target_is_refused"),
    ("H17 long targets", "it/transport_heads.rs", "heads_are_bounded"),
    ("H18 many headers", "it/transport_heads.rs", "heads_are_bounded"),
    ("H19 large headers", "it/transport_heads.rs", "heads_are_bounded"),
    ("H20 no headers", "it/hostile/http.rs", "h20_lines_that_are_no_headers"),
    ("H21 credentials in other bytes", "it/hostile/http.rs", "h21_credentials_in_other_bytes"),
    ("H22 bare line feeds", "it/hostile/http.rs", "h22_lines_that_end_in_a_line_feed_alone"),
    ("H23 lengths", "it/hostile/http.rs", "h23_lengths"),
    ("H24 giants", "it/hostile/http.rs", "h24_a_giant_that_is_announced_takes_no_memory"),
    ("H25 bodies that end early", "it/transport_bodies.rs", "a_body_that_ends_early_is_not_stored"),
    ("H26 bodies that stop", "it/crowds.rs", "an_upload_must_keep_on_coming"),
    ("H27 a length beside chunks", "it/hostile/http.rs", "h27_a_length_beside_chunks"),
    ("H28 codings", "it/hostile/http.rs", "h28_h29_h30_codings_of_the_transfer"),
    ("H29 gzip, chunked", "it/hostile/http.rs", "h28_h29_h30_codings_of_the_transfer"),
    ("H30 chunked twice", "it/hostile/http.rs", "h28_h29_h30_codings_of_the_transfer"),
    ("H31 broken chunks", "it/hostile/http.rs", "h31_chunks_that_are_none"),
    ("H32 trailers", "it/files.rs", "a_body_of_unknown_length_is_saved_whole"),
    ("H33 compressed bodies", "it/transport_bodies.rs", "compressed_bodies_are_refused"),
    ("H34 100-continue", "it/transport_bodies.rs", "a_client_that_asks_first_is_refused_without_sending"),
    ("H35 other expectations", "it/hostile/http.rs", "h35_other_expectations"),
    ("H36 refused uploads", "it/hostile/http.rs", "h36_a_refused_upload_that_goes_on_reads_why"),
    ("H37 pipelines", "it/hostile/http.rs", "h37_many_requests_in_one_write"),
    ("H38 bodies of GET", "it/hostile/http.rs", "h38_bodies_where_none_belongs"),
    ("H39 silence", "it/hostile/http.rs", "h39_connections_that_say_nothing"),
    ("H40 upgrades", "it/transport_heads.rs", "headers_that_would_change_the_request_are_ignored"),
    ("H41 ranges", "it/ranges.rs", "several_ranges_or_nonsense_get_the_whole_file"),
    ("H42 keys of a query", "it/read_tree.rs", "of_a_repeated_key_the_last_value_counts_for_readers_only"),
    ("H43 tokens elsewhere", "it/token_access.rs", "a_request_without_a_good_token_is_unauthorized"),
    ("H44 other methods in headers", "it/transport_heads.rs", "headers_that_would_change_the_request_are_ignored"),
    ("H45 what a proxy would tell", "it/transport_heads.rs", "headers_that_would_change_the_request_are_ignored"),
    ("H46 HTTP/2", "it/hostile/http.rs", "h12_versions_that_are_not_spoken"),
    ("H47 refusals", "it/matrix/mod.rs", "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("P01 dots", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P02 encoded dots", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P03 encoded twice", "it/file_names.rs", "a_path_is_decoded_exactly_once"),
    ("P04 no UTF-8", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P05 control characters", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P06 backslashes", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P07 slashes", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P08 dots and spaces at the end", "it/file_names.rs", "names_that_differ_by_a_byte_are_different_files"),
    ("P09 lengths", "it/file_names.rs", "lengths_are_bounded_in_bytes"),
    ("P10 normal forms", "it/file_names.rs", "names_that_differ_by_a_byte_are_different_files"),
    ("P11 case", "it/file_names.rs", "names_that_differ_by_a_byte_are_different_files"),
    ("P12 invisible characters", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P13 .git", "it/file_names.rs", "malformed_paths_are_refused_and_change_nothing"),
    ("P14 devices of Windows", "it/file_names.rs", "ordinary_names_are_kept_to_the_byte"),
    ("P15 names like ours", "it/file_names.rs", "ordinary_names_are_kept_to_the_byte"),
    ("P16 files and folders", "it/files.rs", "a_file_is_never_a_folder_at_once"),
    ("P17 links in the data folder", "it/hostile/names.rs", "p17_what_is_put_in_the_place_of_a_file_of_the_store"),
    ("P18 projects", "it/hostile/names.rs", "p18_spellings_of_a_project"),
    ("P19 branches", "it/branches.rs", "names_that_git_refuses_are_refused"),
    ("P20 revisions", "it/hostile/names.rs", "p20_revisions_of_elsewhere"),
    ("P21 names in headers", "it/files.rs", "a_file_is_downloaded_and_never_shown"),
    ("P22 pages", "it/gitlab_pages.rs", "bad_parameters_are_named"),
    ("P23 any bytes", "it/hostile/names.rs", "p23_a_name_is_kept_to_the_byte_or_refused"),
    ("T01 no token", "it/token_access.rs", "a_request_without_a_good_token_is_unauthorized"),
    ("T02 capitals", "it/token_access.rs", "a_request_without_a_good_token_is_unauthorized"),
    ("T03 decoration", "it/token_access.rs", "a_request_without_a_good_token_is_unauthorized"),
    ("T04 two tokens", "it/token_access.rs", "two_token_lines_are_refused"),
    ("T05 tokens that count no more", "it/matrix/mod.rs",
        "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("T06 what a token covers", "it/token_access.rs", "an_allowlist_covers_what_it_names_and_hides_the_rest"),
    ("T07 ids of others", "it/hostile/access.rs", "t07_ids_of_others_name_nothing"),
    ("T08 tokens and cookies", "it/matrix/mod.rs", "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("T09 routes and credentials", "it/matrix/mod.rs",
        "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("T10 prefixes", "it/roles.rs", "a_prefix_covers_a_group_and_not_its_neighbours"),
    ("T11 auditors", "it/matrix/mod.rs", "every_route_opens_for_whom_its_policy_says_and_for_nobody_else"),
    ("T12 public editors", "it/roles.rs", "every_role_opens_what_the_table_says_and_nothing_else"),
    ("T13 further fields", "it/json_bodies.rs", "fields_that_nobody_knows_are_refused_by_name"),
    ("T14 tokens that are shown", "it/canaries.rs", "no_secret_is_anywhere_but_with_whom_it_belongs"),
    ("T15 first uses", "it/hostile/access.rs", "t15_of_a_hundred_first_uses_one_binds_for_good"),
    ("T16 time", "it/hostile/access.rs", "t16_a_guess_takes_its_time_whatever_is_wrong_with_it"),
    ("T17 who has an account", "it/login.rs", "a_wrong_password_and_an_unknown_user_get_the_same_answer"),
    ("T18 guesses", "it/throttle.rs", "who_guesses_a_password_waits_and_others_do_not"),
    ("T19 sessions that are brought", "it/login.rs", "every_login_gets_a_cookie_of_its_own"),
    ("T20 cookies", "it/sessions.rs", "two_session_cookies_are_no_session"),
    ("T21 other sites", "it/hostile/access.rs", "t21_forms_and_scripts_of_other_sites"),
    ("T22 frames", "page/assets.rs", "every_state_of_the_page_is_the_same_document"),
    ("T23 files that run", "it/files.rs", "a_file_is_downloaded_and_never_shown"),
    ("T24 names that run", "page/journeys/hostile.mjs", ""),
    ("T25 JSON", "it/json_bodies.rs", "a_body_must_be_one_json_object"),
    ("T26 expiry", "it/tokens.rs", "an_expiry_has_several_spellings"),
    ("T27 the first start", "service/first_start.rs", "a_first_start_killed_at_any_step_is_finished_by_the_next"),
    ("T28 what others have", "it/hostile/access.rs", "t28_a_file_that_somebody_has_is_saved_as_any_other"),
    ("T29 too much of everything", "access/tokens.rs", "an_account_has_no_more_tokens_than_allowed"),
    ("T30 the log", "cli/log/json_line.rs", "a_line_is_json_whatever_a_value_holds"),
    ("T31 caches", "it/names.rs", "a_project_has_one_number_and_its_answers_vary_by_instance"),
    ("T32 what changes meanwhile", "it/hostile/access.rs", "t32_what_is_taken_away_while_a_body_comes_counts"),
];

#[test]
fn every_row_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (row, file, test) in ROWS {
        let places = ["tests", "src"].map(|folder| root.join(folder).join(file));
        let texts = places
            .iter()
            .filter_map(|place| fs::read_to_string(place).ok());
        let text: String = texts.collect();
        let is_there = match *test {
            "" => !text.is_empty(),
            test => text.contains(&format!("fn {test}() {{")),
        };
        assert!(is_there, "{row}: {file} has no {test}");
    }
    let count = |table| {
        ROWS.iter()
            .filter(|(row, ..)| row.starts_with(table))
            .count()
    };
    assert_eq!(['H', 'P', 'T'].map(count), [47, 23, 32]);
}
