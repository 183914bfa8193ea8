// go-gitlab against the service: one line of output a row of the matrix (README).
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/xanzy/go-gitlab"
)

type file struct {
	Path   string `json:"path"`
	Ref    string `json:"ref"`
	Base64 []byte `json:"base64"`
	Sha256 string `json:"sha256"`
	BlobID string `json:"blob_id"`
	Size   int    `json:"size"`
}

type identity struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
}

var truth struct {
	Username string            `json:"username"`
	Project  identity          `json:"project"`
	Slug     identity          `json:"slug"`
	CommitID string            `json:"commit_id"`
	Branches []string          `json:"branches"`
	Tree     []string          `json:"tree"`
	Files    []file            `json:"files"`
	Tokens   map[string]string `json:"tokens"`
	Folder   struct {
		Path  string   `json:"path"`
		Names []string `json:"names"`
	} `json:"folder"`
	OtherBranch file `json:"other_branch"`
}

var api *gitlab.Client

func main() {
	text, err := os.ReadFile(os.Getenv("SITECONF_TRUTH"))
	must(err)
	must(json.Unmarshal(text, &truth))
	api = client("good")
	run := []struct {
		number int
		check  func()
	}{
		{1, row1}, {3, row3}, {4, row4}, {5, row5}, {6, row6}, {7, row7}, {8, row8}, {11, row11},
		{12, row12}, {14, row14}, {16, row16}, {17, row17}, {18, row18}, {19, row19}, {20, row20},
		{23, row23}, {24, row24}, {25, row25}, {26, row26},
	}
	for _, row := range run {
		report(row.number, row.check)
	}
}

func report(number int, check func()) {
	defer func() {
		if fault := recover(); fault != nil {
			text := strings.ReplaceAll(fmt.Sprint(fault), "\n", " ")
			fmt.Printf("row %d failed: %.900s\n", number, text)
		}
	}()
	check()
	fmt.Printf("row %d ok\n", number)
}

func client(token string) *gitlab.Client {
	// It asks for the root of the API once, to learn a rate limit.
	made, err := gitlab.NewClient(truth.Tokens[token], gitlab.WithBaseURL(os.Getenv("SITECONF_BASE")))
	must(err)
	return made
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(seen, wanted interface{}) {
	a, b := fmt.Sprintf("%q", fmt.Sprint(seen)), fmt.Sprintf("%q", fmt.Sprint(wanted))
	if a != b {
		panic(fmt.Sprintf("%.400s is not %.400s", a, b))
	}
}

func refused(status int, message string, err error) {
	refusal, ok := err.(*gitlab.ErrorResponse)
	if !ok {
		panic(fmt.Sprintf("%d did not come: %v", status, err))
	}
	equal(refusal.Response.StatusCode, status)
	equal(refusal.Message, fmt.Sprintf("{message: %s}", message))
}

func raw(pid interface{}, f file, ref string) []byte {
	seen, _, err := api.RepositoryFiles.GetRawFile(pid, f.Path, &gitlab.GetRawFileOptions{Ref: &ref})
	must(err)
	return seen
}

func get(f file, ref string) *gitlab.File {
	seen, _, err := api.RepositoryFiles.GetFile(number(), f.Path, &gitlab.GetFileOptions{Ref: &ref})
	must(err)
	return seen
}

func number() int { return truth.Project.Number }

func project(pid interface{}) *gitlab.Project {
	found, _, err := api.Projects.GetProject(pid, nil)
	must(err)
	return found
}

// Walks as this client's documentation says, by the number of the next page.
func walk(ref string, perPage int) []string {
	recursive := true
	options := &gitlab.ListTreeOptions{Recursive: &recursive, Ref: &ref}
	options.PerPage = perPage
	var lines []string
	for {
		entries, response, err := api.Repositories.ListTree(number(), options)
		must(err)
		for _, entry := range entries {
			equal(entry.Name, path.Base(entry.Path))
			lines = append(lines, fmt.Sprintf("%s %s %s\t%s", entry.Mode, entry.Type, entry.ID, entry.Path))
		}
		if response.NextPage == 0 {
			sort.Strings(lines)
			return lines
		}
		options.Page = response.NextPage
	}
}

func row1() { equal(project(number()).PathWithNamespace, truth.Project.ID) }

func row3() {
	user, _, err := api.Users.CurrentUser()
	must(err)
	equal(user.Username, truth.Username)
}

func row4() {
	version, _, err := api.Version.GetVersion()
	must(err)
	equal(len(strings.Split(strings.Split(version.Version, "-")[0], ".")), 3)
}

func row5() {
	equal(project(number()).ID, number())
	equal(project(number()).DefaultBranch, "main")
}

func row6() {
	wanted := map[interface{}]int{
		number(): number(), truth.Project.ID: number(), truth.Slug.ID: truth.Slug.Number,
	}
	for name, id := range wanted {
		equal(project(name).ID, id)
		_, _, err := api.Branches.GetBranch(name, "main")
		must(err)
	}
}

func row7() {
	for _, f := range truth.Files {
		if strings.Contains(f.Path, "/") {
			equal(raw(truth.Project.ID, f, "main"), f.Base64)
		}
	}
}

func row8() {
	options := &gitlab.ListTreeOptions{Path: &truth.Folder.Path}
	entries, _, err := api.Repositories.ListTree(number(), options)
	must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	equal(names, truth.Folder.Names)
}

func row11() {
	equal(walk("main", 100), truth.Tree)
	equal(walk("main", 7), truth.Tree)
	recursive := true
	options := &gitlab.ListTreeOptions{Recursive: &recursive}
	options.PerPage, options.Page = 100, 2
	_, response, err := api.Repositories.ListTree(number(), options)
	must(err)
	pages := (len(truth.Tree) + 99) / 100
	equal([]int{response.TotalItems, response.TotalPages, response.ItemsPerPage}, []int{len(truth.Tree), pages, 100})
	equal([]int{response.PreviousPage, response.CurrentPage, response.NextPage}, []int{1, 2, 3})
}

func row12() {
	for _, size := range []int{100, 1000} {
		recursive := true
		options := &gitlab.ListTreeOptions{Recursive: &recursive}
		options.PerPage, options.Page = size, 1
		entries, _, err := api.Repositories.ListTree(number(), options)
		must(err)
		equal(len(entries), 100)
	}
}

func row14() {
	recursive := true
	deep, _, err := api.Repositories.ListTree(number(), &gitlab.ListTreeOptions{Recursive: &recursive})
	must(err)
	equal(len(deep), len(truth.Tree))
	shallow, _, err := api.Repositories.ListTree(number(), &gitlab.ListTreeOptions{})
	must(err)
	for _, entry := range shallow {
		equal(strings.Contains(entry.Path, "/"), false)
	}
}

func row16() {
	ref := "main"
	for _, f := range truth.Files {
		seen, _, err := api.RepositoryFiles.GetFileMetaData(number(), f.Path, &gitlab.GetFileMetaDataOptions{Ref: &ref})
		must(err)
		equal(seen.FileName, path.Base(f.Path))
		check(seen, f, ref)
	}
}

func row17() {
	for _, f := range truth.Files {
		for _, ref := range []string{"main", "HEAD"} {
			seen := get(f, ref)
			equal(seen.Content, base64.StdEncoding.EncodeToString(f.Base64))
			equal(seen.FileName, path.Base(f.Path))
			check(seen, f, ref)
		}
	}
}

// Everything that both the headers and the body say of a file.
func check(seen *gitlab.File, f file, ref string) {
	equal(seen.FilePath, f.Path)
	equal(seen.Size, f.Size)
	equal(seen.Encoding, "base64")
	equal(seen.SHA256, f.Sha256)
	equal(seen.Ref, ref)
	equal(seen.BlobID, f.BlobID)
	equal(seen.CommitID, truth.CommitID)
	equal(len(seen.LastCommitID), 40)
	equal(seen.ExecuteFilemode, false)
}

func row18() {
	folder, ref := "no such/folder", "no-such-branch"
	_, _, err := api.Repositories.ListTree(number(), &gitlab.ListTreeOptions{Path: &folder})
	refused(404, "404 invalid revision or path Not Found", err)
	_, _, err = api.Repositories.ListTree(number(), &gitlab.ListTreeOptions{Ref: &ref})
	refused(404, "404 Tree Not Found", err)
}

// Decoding into this client's structures is the check; a date that is not one fails it.
func row19() {
	found := project(number())
	equal(found.CreatedAt.IsZero() || found.LastActivityAt.IsZero(), false)
	branch, _, err := api.Branches.GetBranch(number(), "main")
	must(err)
	equal(branch.Commit.CommittedDate.IsZero() || branch.Commit.CreatedAt.IsZero(), false)
	_, _, err = api.Users.CurrentUser()
	must(err)
	_, _, err = api.Projects.ListProjects(&gitlab.ListProjectsOptions{})
	must(err)
	_, _, err = api.Commits.ListCommits(number(), &gitlab.ListCommitsOptions{})
	must(err)
	commit, _, err := api.Commits.GetCommit(number(), truth.CommitID)
	must(err)
	equal(commit.ID, truth.CommitID)
	compare := &gitlab.CompareOptions{From: gitlab.String("main"), To: &truth.OtherBranch.Ref}
	_, _, err = api.Repositories.Compare(number(), compare)
	must(err)
}

// Every GET says `Accept: application/json`, one of a raw file too.
func row20() { equal(raw(number(), truth.Files[0], "main"), truth.Files[0].Base64) }

func row23() {
	options := &gitlab.ListBranchesOptions{}
	options.PerPage = 20
	var names []string
	for {
		branches, response, err := api.Branches.ListBranches(number(), options)
		must(err)
		for _, branch := range branches {
			names = append(names, branch.Name)
		}
		// As many programs do: by the count of pages, not by the next one.
		if response.CurrentPage >= response.TotalPages {
			break
		}
		options.Page = response.CurrentPage + 1
	}
	equal(names, truth.Branches)
	search := &gitlab.ListBranchesOptions{Search: gitlab.String("ЦЕНЫ")}
	found, _, err := api.Branches.ListBranches(number(), search)
	must(err)
	equal(len(found), 1)
	equal(found[0].Name, truth.OtherBranch.Ref)
	main, _, err := api.Branches.GetBranch(number(), "main")
	must(err)
	equal([]bool{main.Default, main.Protected, main.Merged}, []bool{true, true, false})
	equal([]string{main.Commit.ID, main.Commit.ShortID}, []string{truth.CommitID, truth.CommitID[:8]})
}

func row24() {
	for _, f := range truth.Files {
		equal(raw(number(), f, "main"), f.Base64)
		equal(get(f, "main").Content, base64.StdEncoding.EncodeToString(f.Base64))
		blob, _, err := api.Repositories.RawBlobContent(number(), f.BlobID)
		must(err)
		equal(bytes.Equal(blob, f.Base64), true)
	}
}

func row25() {
	other := truth.OtherBranch
	equal(raw(number(), other, other.Ref), other.Base64)
	equal(get(other, other.Ref).Content, base64.StdEncoding.EncodeToString(other.Base64))
	branch, _, err := api.Branches.GetBranch(number(), other.Ref)
	must(err)
	equal(branch.Name, other.Ref)
	equal(len(walk(other.Ref, 100)), len(truth.Tree))
}

func row26() {
	_, _, err := client("unknown").Users.CurrentUser()
	refused(401, "401 Unauthorized", err)
	_, _, err = client("elsewhere").Branches.GetBranch(number(), "main")
	refused(403, "403 Forbidden", err)
	_, _, err = client("everywhere").Projects.GetProject("no-such.erp", nil)
	refused(404, "404 Project Not Found", err)
	ref := "main"
	_, _, err = api.RepositoryFiles.GetFile(number(), "no such.txt", &gitlab.GetFileOptions{Ref: &ref})
	refused(404, "404 File Not Found", err)
	ref = "no-such"
	_, _, err = api.RepositoryFiles.GetFile(number(), "no such.txt", &gitlab.GetFileOptions{Ref: &ref})
	refused(404, "404 Commit Not Found", err)
	_, _, err = api.Branches.GetBranch(number(), "no-such")
	refused(404, "404 Branch Not Found", err)
}
