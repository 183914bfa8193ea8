//! What a branch and the tokens of its project do when one call comes after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::Model;
use crate::expected::branch_digest;

/// The files that there may be.
pub(crate) const PATHS: [&str; 3] = ["a.xml", "b.xml", "folder/c.xml"];

/// What is in a file: the number of the call that brought it.
pub(crate) type Content = u64;

/// What is in each of the files, `None` for one that is not there.
pub(crate) type Files = [Option<Content>; PATHS.len()];

/// Digits of a commit id that every answer has.
pub(crate) const SHORT: usize = 8;

/// The bytes of a content. No two have the same.
pub(crate) fn body(content: Content) -> String {
    format!("<save n=\"{content}\"/>\n")
}

/// The content of these bytes.
pub(crate) fn content(body: &[u8]) -> Content {
    let text = std::str::from_utf8(body).unwrap();
    let number = text
        .strip_prefix("<save n=\"")
        .and_then(|rest| rest.strip_suffix("\"/>\n"));
    number
        .unwrap_or_else(|| panic!("nobody wrote {text}"))
        .parse()
        .unwrap()
}

/// A project with one branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    files: Files,
    /// What there was before each change.
    snapshots: Vec<Files>,
    tokens: Tokens,
}

/// The tokens that count, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tokens(BTreeMap<usize, Token>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Token {
    name: u64,
    /// True if it binds itself to the first instance that uses it.
    binds: bool,
    instance: Option<u8>,
}

/// What must hold of a file for a change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    None,
    Is(Content),
    IsAbsent,
}

impl Condition {
    fn holds(self, file: Option<Content>) -> bool {
        match self {
            Self::None => true,
            Self::Is(content) => file == Some(content),
            Self::IsAbsent => file.is_none(),
        }
    }
}

/// What is asked for. Files are named by their places in [`PATHS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Save(usize, Content, Condition),
    Delete(usize, Condition),
    /// New contents for several files that are there, in one change.
    Update(Vec<(usize, Content)>),
    /// A snapshot's state, whole or of one file; only of a branch with this commit id.
    RollBack(usize, Option<usize>, Option<String>),
    Read(usize),
    /// A file, with the commit id of the branch.
    Describe(usize),
    ReadSnapshot(usize, usize),
    ReadTree,
    ReadCommit,
    ReadBranch,
    MakeToken {
        number: usize,
        name: u64,
        binds: bool,
    },
    RenameToken(usize, u64),
    ReleaseToken(usize),
    RevokeToken(usize),
    /// A token that is shown by an instance, if any.
    ShowToken(usize, Option<u8>),
    ListTokens,
}

impl Wish {
    /// True for what is asked of tokens, and tells nothing of files.
    pub(crate) fn is_of_tokens(&self) -> bool {
        matches!(
            self,
            Self::MakeToken { .. }
                | Self::RenameToken(..)
                | Self::ReleaseToken(_)
                | Self::RevokeToken(_)
                | Self::ShowToken(..)
                | Self::ListTokens
        )
    }

    fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Read(_)
                | Self::Describe(_)
                | Self::ReadSnapshot(..)
                | Self::ReadTree
                | Self::ReadCommit
                | Self::ReadBranch
                | Self::ListTokens
        )
    }
}

/// What is answered. Commit ids are short ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The snapshot that was taken, and the commit id of the new state.
    Changed {
        snapshot: usize,
        commit: String,
    },
    File(Content),
    Described {
        file: Content,
        commit: String,
    },
    Tree(Files),
    Commit(String),
    Branch {
        snapshots: usize,
        files: usize,
        commit: String,
    },
    Done,
    /// Of each token its number, its name, and whether it is bound.
    Tokens(Vec<(usize, u64, bool)>),
    /// It cannot be done.
    Impossible,
    NotThere,
    /// The condition does not hold.
    Unmet,
    UnknownToken,
    WrongInstance,
}

impl Answer {
    /// True for what tells that nothing was done.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Impossible
                | Self::NotThere
                | Self::Unmet
                | Self::UnknownToken
                | Self::WrongInstance
        )
    }
}

/// A call: what was asked for, and the answer, `None` where none came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) wish: Wish,
    pub(crate) answer: Option<Answer>,
    /// True for a command beside the daemon.
    pub(crate) is_beside: bool,
}

/// A service with one branch.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    /// The commit ids of states.
    commits: RefCell<HashMap<Files, String>>,
    /// Snapshots that answers named: nobody without an answer has taken one of them.
    named: HashSet<usize>,
}

impl Model for Branch {
    type State = State;
    type Call = Call;

    fn after(&self, state: &State, call: &Call) -> Option<State> {
        let mut after = state.clone();
        let answer = self.act(&mut after, &call.wish);
        let may_be = match (&call.answer, &answer) {
            (Some(told), answer) => told == answer,
            (None, Answer::Changed { snapshot, .. }) => !self.named.contains(snapshot),
            (None, _) => true,
        };
        may_be.then_some(after)
    }

    fn only_reads(call: &Call) -> bool {
        call.wish.only_reads() || call.answer.as_ref().is_some_and(Answer::is_refusal)
    }
}

impl Branch {
    /// The one that gave these answers, if any did.
    pub(crate) fn of<'a>(answers: impl Iterator<Item = &'a Answer>) -> Self {
        let named = answers.filter_map(|answer| match answer {
            Answer::Changed { snapshot, .. } => Some(*snapshot),
            _ => None,
        });
        Self {
            named: named.collect(),
            ..Self::default()
        }
    }

    /// The commit id of a state.
    fn commit(&self, files: &Files) -> String {
        let mut commits = self.commits.borrow_mut();
        let commit = commits.entry(*files).or_insert_with(|| {
            let there = PATHS
                .iter()
                .zip(files)
                .filter_map(|(path, file)| Some((*path, body((*file)?))));
            let there: Vec<_> = there.collect();
            let there: Vec<_> = there
                .iter()
                .map(|(path, body)| (*path, body.as_bytes()))
                .collect();
            branch_digest(&there)[..40].to_owned()
        });
        commit.clone()
    }

    pub(crate) fn short_id(&self, files: &Files) -> String {
        self.commit(files)[..SHORT].to_owned()
    }

    /// Brings the branch into another state.
    fn change(&self, state: &mut State, files: Files) -> Answer {
        let before = std::mem::replace(&mut state.files, files);
        state.snapshots.push(before);
        Answer::Changed {
            snapshot: state.snapshots.len(),
            commit: self.short_id(&files),
        }
    }

    /// Does what is asked for, and answers.
    pub(crate) fn act(&self, state: &mut State, wish: &Wish) -> Answer {
        let mut files = state.files;
        match *wish {
            Wish::Save(path, content, condition) => {
                if !condition.holds(files[path]) {
                    return Answer::Unmet;
                }
                files[path] = Some(content);
                self.change(state, files)
            }
            Wish::Delete(path, condition) => {
                if !condition.holds(files[path]) {
                    return Answer::Unmet;
                }
                if files[path].take().is_none() {
                    return Answer::NotThere;
                }
                self.change(state, files)
            }
            Wish::Update(ref contents) => {
                for (path, content) in contents {
                    if files[*path].replace(*content).is_none() {
                        return Answer::Impossible;
                    }
                }
                self.change(state, files)
            }
            Wish::RollBack(to, path, ref commit) => {
                if commit
                    .as_ref()
                    .is_some_and(|commit| *commit != self.commit(&files))
                {
                    return Answer::Unmet;
                }
                let Some(then) = to.checked_sub(1).and_then(|at| state.snapshots.get(at)) else {
                    return Answer::NotThere;
                };
                match path {
                    None => files = *then,
                    Some(path) if files[path].is_none() && then[path].is_none() => {
                        return Answer::NotThere;
                    }
                    Some(path) => files[path] = then[path],
                }
                self.change(state, files)
            }
            Wish::Read(path) => files[path].map_or(Answer::NotThere, Answer::File),
            Wish::Describe(path) => {
                files[path].map_or(Answer::NotThere, |file| Answer::Described {
                    file,
                    commit: self.short_id(&files),
                })
            }
            Wish::ReadSnapshot(version, path) => {
                let then = version
                    .checked_sub(1)
                    .and_then(|at| state.snapshots.get(at));
                let file = then.and_then(|then| then[path]);
                file.map_or(Answer::NotThere, Answer::File)
            }
            Wish::ReadTree => Answer::Tree(files),
            Wish::ReadCommit => Answer::Commit(self.short_id(&files)),
            Wish::ReadBranch => Answer::Branch {
                snapshots: state.snapshots.len(),
                files: files.iter().flatten().count(),
                commit: self.short_id(&files),
            },
            Wish::MakeToken {
                number,
                name,
                binds,
            } => state.tokens.make(number, name, binds),
            Wish::RenameToken(number, name) => {
                state.tokens.change(number, |token| token.name = name)
            }
            Wish::ReleaseToken(number) => {
                state.tokens.change(number, |token| token.instance = None)
            }
            Wish::RevokeToken(number) => state.tokens.revoke(number),
            Wish::ShowToken(number, instance) => state.tokens.show(number, instance),
            Wish::ListTokens => state.tokens.list(),
        }
    }
}

impl Tokens {
    fn make(&mut self, number: usize, name: u64, binds: bool) -> Answer {
        let instance = None;
        self.0.insert(
            number,
            Token {
                name,
                binds,
                instance,
            },
        );
        Answer::Done
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut Token)) -> Answer {
        let Some(token) = self.0.get_mut(&number) else {
            return Answer::NotThere;
        };
        change(token);
        Answer::Done
    }

    fn revoke(&mut self, number: usize) -> Answer {
        match self.0.remove(&number) {
            Some(_) => Answer::Done,
            None => Answer::NotThere,
        }
    }

    fn show(&mut self, number: usize, instance: Option<u8>) -> Answer {
        let Some(token) = self.0.get_mut(&number) else {
            return Answer::UnknownToken;
        };
        if !token.binds {
            return Answer::Done;
        }
        match instance {
            Some(own) if *token.instance.get_or_insert(own) == own => Answer::Done,
            _ => Answer::WrongInstance,
        }
    }

    fn list(&self) -> Answer {
        let tokens = self.0.iter();
        let shown = tokens.map(|(number, token)| (*number, token.name, token.instance.is_some()));
        Answer::Tokens(shown.collect())
    }
}
