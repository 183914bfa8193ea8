//! Histories that are wrong on purpose: each has an answer that nobody alone would get, and is found.

use std::time::Duration;

use crate::check::{Event, check};
use crate::model::{Answer, Branch, Call, Condition, Content, State, Wish};

/// Calls one after the other.
fn history(calls: &[(Wish, Option<Answer>)]) -> Vec<Event<Call>> {
    let event = |(at, (wish, answer)): (u64, &(Wish, Option<Answer>))| Event {
        is_answered: answer.is_some(),
        call: Call {
            wish: wish.clone(),
            answer: answer.clone(),
            is_beside: false,
        },
        sent: Duration::from_millis(2 * at),
        until: Some(Duration::from_millis(2 * at + 1)),
    };
    (0..).zip(calls).map(event).collect()
}

/// Asserts that the last of these wishes, one after the other, has the first of these answers and none of
/// the others.
#[track_caller]
fn assert_only(wishes: &[Wish], answers: &[Answer]) {
    let branch = Branch::default();
    let mut state = State::default();
    let act = |wish: &Wish| (wish.clone(), Some(branch.act(&mut state, wish)));
    let mut told: Vec<_> = wishes.iter().map(act).collect();
    for (at, answer) in answers.iter().enumerate() {
        told.last_mut().unwrap().1 = Some(answer.clone());
        let outcome = check(&branch, &State::default(), &history(&told));
        assert_eq!(outcome.is_ok(), at == 0, "{told:?}");
    }
}

fn save(content: Content) -> Wish {
    Wish::Save(0, content, Condition::None)
}

/// A commit id of a branch with this content in its first file.
fn commit(content: Option<Content>) -> String {
    Branch::default().short_id(&[content, None, None])
}

#[test]
fn what_is_read_after_a_change_is_of_after_it() {
    let saved = [save(1), save(2)];
    let then = |wish: Wish| [&saved[..], &[wish]].concat();
    assert_only(
        &then(Wish::Read(0)),
        &[Answer::File(2), Answer::File(1), Answer::NotThere],
    );
    let digest = |content| Answer::Commit(commit(content));
    assert_only(
        &then(Wish::ReadCommit),
        &[digest(Some(2)), digest(Some(1)), digest(None)],
    );
    let tree = |content| Answer::Tree([content, None, None]);
    assert_only(
        &then(Wish::ReadTree),
        &[tree(Some(2)), tree(Some(1)), tree(None)],
    );
    // A file of one state with the commit id of another.
    let described = |file, of| Answer::Described {
        file,
        commit: commit(Some(of)),
    };
    assert_only(
        &then(Wish::Describe(0)),
        &[described(2, 2), described(2, 1), described(1, 1)],
    );
}

#[test]
fn no_update_is_lost_and_no_snapshot_left_out() {
    let changed = |snapshot, content| Answer::Changed {
        snapshot,
        commit: commit(content),
    };
    let conditional = |expected| Wish::Save(0, 3, Condition::Is(expected));
    let wishes = |last: Wish| [save(1), save(2), last];
    assert_only(
        &wishes(conditional(1)),
        &[Answer::Unmet, changed(3, Some(3))],
    );
    assert_only(
        &wishes(conditional(2)),
        &[changed(3, Some(3)), Answer::Unmet, changed(2, Some(3))],
    );
    let roll_back = |to| Wish::RollBack(to, None, None);
    assert_only(
        &wishes(roll_back(2)),
        &[
            changed(3, Some(1)),
            changed(2, Some(1)),
            changed(3, Some(2)),
            Answer::NotThere,
        ],
    );
    assert_only(
        &wishes(roll_back(3)),
        &[Answer::NotThere, changed(3, Some(2))],
    );
    let delete = Wish::Delete(0, Condition::None);
    assert_only(
        &wishes(delete),
        &[changed(3, None), Answer::NotThere, changed(3, Some(2))],
    );
    let look = [save(1), roll_back(1), Wish::ReadSnapshot(2, 0)];
    assert_only(&look, &[Answer::File(1), Answer::NotThere, Answer::File(2)]);
}

#[test]
fn a_token_counts_until_it_is_revoked_and_for_whom_it_is_bound_to() {
    let make = Wish::MakeToken {
        number: 1,
        name: 5,
        binds: true,
    };
    let (show, revoke) = (
        |instance| Wish::ShowToken(1, Some(instance)),
        Wish::RevokeToken(1),
    );
    let revoked = [make.clone(), revoke, show(1)];
    assert_only(
        &revoked,
        &[Answer::UnknownToken, Answer::Done, Answer::WrongInstance],
    );
    let by_another = [make.clone(), show(1), show(2)];
    assert_only(
        &by_another,
        &[Answer::WrongInstance, Answer::Done, Answer::UnknownToken],
    );
    let released = [make.clone(), show(1), Wish::ReleaseToken(1), show(2)];
    assert_only(&released, &[Answer::Done, Answer::WrongInstance]);
    let listed = [make, show(1), Wish::RenameToken(1, 6), Wish::ListTokens];
    let tokens = |name, is_bound| Answer::Tokens(vec![(1, name, is_bound)]);
    assert_only(
        &listed,
        &[tokens(6, true), tokens(5, true), tokens(6, false)],
    );
}

#[test]
fn what_was_acknowledged_is_not_undone_by_a_kill() {
    // The last of them was cut off.
    let branch = Branch::default();
    let told = |last: Answer| {
        let mut state = State::default();
        let first = branch.act(&mut state, &save(1));
        let calls = [
            (save(1), Some(first)),
            (save(2), None),
            (Wish::Read(0), Some(last)),
        ];
        check(&branch, &State::default(), &history(&calls)).is_ok()
    };
    assert!(told(Answer::File(1)) && told(Answer::File(2)));
    assert!(!told(Answer::NotThere) && !told(Answer::File(3)));
}
