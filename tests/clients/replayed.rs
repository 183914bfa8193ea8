//! What the clients that cannot be installed send, as their sources spell it, and what they need of
//! the answer.

use crate::needs::{
    assert_is_branch, assert_pages, has_metadata, has_next_link, is_first_page_of_96, is_folder,
    is_hidden, is_hidden_json, is_last_page_of_96, is_main_branch, is_missing_path,
    is_other_branch, is_page_of_100, is_project, is_special, is_user, is_version, list, list_of,
};
use crate::replay::Replayed;

pub(crate) const REPLAYED: [Replayed; 5] = [GITLAB4J, GLAB, RENOVATE, ARGO_CD, ONE_C];

/// It escapes `.`, `-` and `_` too, asks for pages of 96, and sends a stray `id`.
const GITLAB4J: Replayed = Replayed {
    name: "gitlab4j",
    headers: &["PRIVATE-TOKEN: {token}", "Accept: application/json"],
    exchanges: &[
        (1, "GET {v4}/projects/{number}", is_project),
        (4, "GET {v4}/version", is_version),
        (5, "GET {v4}/projects/{number}", is_project),
        (6, "GET {v4}/projects/acme%2Fshop%2Eerp", is_project),
        (
            7,
            "GET {v4}/projects/acme%2Fshop%2Eerp/repository/files/%D0%A1%D0%BF%D1%80%D0%B0%D0%B2%D0%BE%D1%87%D0%BD%D0%B8%D0%BA%D0%B8%2F%D0%9A%D0%BE%D0%BD%D1%82%D1%80%20%D0%B0%D0%B3%D0%B5%D0%BD%D1%82%D1%8B%2Fa%2Bb%25c%23d%3Fe%26f%3Dg%3Bh%2Ci%7Ej%5Fk%2Dl%2Em%281%29%5B2%5D%7B3%7D%7C%5E%60%27%22%40%3A%21%24*%2Exml/raw?ref=main",
            is_special,
        ),
        (
            10,
            "GET {v4}/projects/{number}/repository/tree?id={number}&path=%2F&ref=main&recursive=true&page=1&per_page=96",
            has_next_link,
        ),
        (
            11,
            "GET {v4}/projects/{number}/repository/tree?id={number}&path=%2F&ref=main&recursive=true&page=1&per_page=96",
            is_first_page_of_96,
        ),
        (
            11,
            "GET {v4}/projects/{number}/repository/tree?id={number}&path=%2F&ref=main&recursive=true&page=14&per_page=96",
            is_last_page_of_96,
        ),
        (
            12,
            "GET {v4}/projects/{number}/repository/branches?page=1&per_page=96",
            |answer, _| assert_eq!(list(answer).len(), 96),
        ),
        (
            14,
            "GET {v4}/projects/{number}/repository/tree?id={number}&path=%2F&ref=main&recursive=true",
            |answer, truth| assert_eq!(list(answer).len(), list_of(&truth["tree"]).len()),
        ),
        (
            16,
            "HEAD {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt?ref=main",
            has_metadata,
        ),
        (
            17,
            "GET {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt?ref=main",
            is_hidden_json,
        ),
        (
            18,
            "GET {v4}/projects/{number}/repository/tree?id={number}&path=%2F&ref=master",
            |answer, _| answer.assert_error(404, "404 Tree Not Found"),
        ),
        (
            19,
            "GET {v4}/projects/{number}/repository/branches/main",
            is_main_branch,
        ),
        (
            20,
            "GET {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt/raw?ref=main",
            is_hidden,
        ),
        (
            22,
            "GET {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt/raw?ref=main",
            is_hidden,
        ),
        (
            23,
            "GET {v4}/projects/{number}/repository/branches?page=2&per_page=96",
            |answer, truth| {
                let names: Vec<_> = list(answer)
                    .into_iter()
                    .map(|branch| branch["name"].clone())
                    .collect();
                assert_eq!(names, list_of(&truth["branches"])[96..]);
            },
        ),
        (
            25,
            "GET {v4}/projects/{number}/repository/branches/feature%2F%D1%86%D0%B5%D0%BD%D1%8B%2Bb",
            is_other_branch,
        ),
    ],
};

/// glab and client-go: `+ & = @ : $` stand as they are in a path.
const GLAB: Replayed = Replayed {
    name: "glab",
    headers: &[
        "Accept: application/json",
        "Private-Token: {token}",
        "User-Agent: glab",
    ],
    exchanges: &[
        (1, "GET {v4}/", |answer, _| {
            assert!(matches!(answer.status, 200 | 404), "{answer:?}");
        }),
        (1, "GET {v4}/projects/{number}", is_project),
        (3, "GET {v4}/user", is_user),
        (4, "GET {v4}/version", is_version),
        (5, "GET {v4}/projects/{number}", is_project),
        (6, "GET {v4}/projects/acme%2Fshop%2Eerp", is_project),
        (
            7,
            "GET {v4}/projects/acme%2Fshop%2Eerp/repository/files/%D0%A1%D0%BF%D1%80%D0%B0%D0%B2%D0%BE%D1%87%D0%BD%D0%B8%D0%BA%D0%B8%2F%D0%9A%D0%BE%D0%BD%D1%82%D1%80%20%D0%B0%D0%B3%D0%B5%D0%BD%D1%82%D1%8B%2Fa+b%25c%23d%3Fe&f=g%3Bh%2Ci~j_k-l%2Em%281%29%5B2%5D%7B3%7D%7C%5E%60%27%22@:%21$%2A%2Exml/raw?ref=main",
            is_special,
        ),
        (
            8,
            "GET {v4}/projects/{number}/repository/tree?path=%D0%9C%D0%BE%D0%B8+%D1%84%D0%B0%D0%B9%D0%BB%D1%8B%2Fa%2Bb&ref=main",
            is_folder,
        ),
        (
            10,
            "GET {v4}/projects/{number}/repository/tree?page=1&per_page=100&recursive=true&ref=main",
            has_next_link,
        ),
        (
            10,
            "GET {v4}/projects/{number}/repository/branches?per_page=100",
            has_next_link,
        ),
        (
            12,
            "GET {v4}/projects/{number}/repository/branches?per_page=100",
            is_page_of_100,
        ),
        (
            13,
            "GET {v4}/projects/{number}/repository/tree?pagination=keyset&per_page=100&recursive=true&ref=main",
            has_next_link,
        ),
        (
            17,
            "GET {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt?ref=main",
            is_hidden_json,
        ),
        (
            18,
            "GET {v4}/projects/{number}/repository/tree?path=no+such&ref=main",
            is_missing_path,
        ),
        (
            25,
            "GET {v4}/projects/{number}/repository/branches/feature%2F%D1%86%D0%B5%D0%BD%D1%8B+b",
            is_other_branch,
        ),
    ],
};

/// Only slashes are escaped by its own hand; a token that is not 20 characters long is a Bearer's.
const RENOVATE: Replayed = Replayed {
    name: "Renovate",
    headers: &[
        "Authorization: Bearer {token}",
        "Accept: application/json",
        "User-Agent: RenovateBot/44.121.2",
    ],
    exchanges: &[
        (1, "GET {v4}/projects/acme%2Fshop.erp", is_project),
        (3, "GET {v4}/user", is_user),
        (4, "GET {v4}/version", is_version),
        (5, "GET {v4}/projects/acme%2Fshop.erp", is_project),
        (6, "GET {v4}/projects/acme%2Fshop.erp", is_project),
        (6, "GET {v4}/projects/{number}", is_project),
        (
            7,
            "GET {v4}/projects/acme%2Fshop.erp/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt?ref=HEAD",
            is_hidden_json,
        ),
        (
            10,
            "GET {v4}/projects/acme%2Fshop.erp/repository/tree?recursive=true&ref=main&per_page=100",
            has_next_link,
        ),
        (
            12,
            "GET {v4}/projects/acme%2Fshop.erp/repository/branches?per_page=100",
            is_page_of_100,
        ),
        (
            15,
            "GET {v4}/projects/acme%2Fshop.erp/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt/raw?ref=main",
            is_hidden,
        ),
        (
            17,
            "GET {v4}/projects/acme%2Fshop.erp/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt?ref=main",
            is_hidden_json,
        ),
        (
            18,
            "GET {v4}/projects/acme%2Fshop.erp/repository/files/renovate.json?ref=HEAD",
            |answer, _| answer.assert_error(404, "404 File Not Found"),
        ),
        (
            25,
            "GET {v4}/projects/acme%2Fshop.erp/repository/branches/feature%2F%D1%86%D0%B5%D0%BD%D1%8B%2Bb",
            is_other_branch,
        ),
    ],
};

/// It reads the commit of every branch, the count of pages, and whether a path is there.
const ARGO_CD: Replayed = Replayed {
    name: "ArgoCD",
    headers: &[
        "Accept: application/json",
        "Private-Token: {token}",
        "User-Agent: go-gitlab",
    ],
    exchanges: &[
        (1, "GET {v4}/projects/acme%2Fshop%2Eerp", is_project),
        (5, "GET {v4}/projects/acme%2Fshop%2Eerp", is_project),
        (6, "GET {v4}/projects/{number}", is_project),
        (
            7,
            "GET {v4}/projects/acme%2Fshop%2Eerp/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt?ref=main",
            is_hidden_json,
        ),
        (
            8,
            "GET {v4}/projects/{number}/repository/tree?path=%D0%9C%D0%BE%D0%B8+%D1%84%D0%B0%D0%B9%D0%BB%D1%8B%2Fa%2Bb&ref=main",
            is_folder,
        ),
        (
            11,
            "GET {v4}/projects/{number}/repository/branches?per_page=100",
            |answer, truth| {
                let count = list_of(&truth["branches"]).len();
                assert_pages(answer, ["1", "", "2", "100", &count.to_string(), "2"]);
            },
        ),
        (11, "GET {v4}/projects?per_page=100", |answer, _| {
            assert_pages(answer, ["1", "", "", "100", "2", "1"]);
        }),
        (
            12,
            "GET {v4}/projects/{number}/repository/branches?per_page=100",
            is_page_of_100,
        ),
        (
            17,
            "GET {v4}/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F%2E%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8%2Etxt?ref=main",
            is_hidden_json,
        ),
        (
            18,
            "GET {v4}/projects/{number}/repository/tree?path=no%2Fsuch&ref=main",
            is_missing_path,
        ),
        (
            19,
            "GET {v4}/projects/{number}/repository/branches?per_page=100",
            |answer, _| {
                for branch in list(answer) {
                    assert_is_branch(&branch);
                }
            },
        ),
        (
            20,
            "GET {v4}/projects/{number}/repository/branches/main",
            is_main_branch,
        ),
        (
            25,
            "GET {v4}/projects/{number}/repository/branches/feature%2F%D1%86%D0%B5%D0%BD%D1%8B+b",
            is_other_branch,
        ),
    ],
};

/// 1C epf-transmitter: it drops the path of the base URL, names a commit, and its header names are
/// told apart by case.
const ONE_C: Replayed = Replayed {
    name: "1C",
    headers: &["PRIVATE-TOKEN: {token}", "User-Agent: 1C+Enterprise/8.3"],
    exchanges: &[
        (
            1,
            "GET /api/v4/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt/raw?ref={commit}",
            is_hidden,
        ),
        (
            6,
            "GET /api/v4/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2f.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt/raw?ref={commit}",
            is_hidden,
        ),
        (
            7,
            "GET /api/v4/projects/{number}/repository/files/%D0%A1%D0%BF%D1%80%D0%B0%D0%B2%D0%BE%D1%87%D0%BD%D0%B8%D0%BA%D0%B8%2F%D0%9A%D0%BE%D0%BD%D1%82%D1%80%20%D0%B0%D0%B3%D0%B5%D0%BD%D1%82%D1%8B%2Fa%2Bb%25c%23d%3Fe%26f%3Dg%3Bh%2Ci~j_k-l.m%281%29%5B2%5D%7B3%7D%7C%5E%60%27%22%40%3A%21%24%2A.xml/raw?ref={commit}",
            is_special,
        ),
        (
            16,
            "GET /api/v4/projects/{number}/repository/files/%D0%9E%D1%82%D1%87%D1%91%D1%82%D1%8B%2F.%D0%BD%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%B9%D0%BA%D0%B8.txt/raw?ref=main",
            has_metadata,
        ),
        (
            18,
            "GET /api/v4/projects/{number}/repository/files/%D0%BD%D0%B5%D1%82.epf/raw?ref={commit}",
            |answer, _| answer.assert_error(404, "404 File Not Found"),
        ),
    ],
};
