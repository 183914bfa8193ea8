// Words of the sheet for going back.
export const rollback = {
  lead: "The branch gets back {version}, its state from right before {who}’s change: {what}. What is there now is kept as a snapshot, so this can be undone.",
  rollBack: { one: "Roll back {n} file", other: "Roll back {n} files" },
  nothing: "Nothing would change: the branch already has this state.",
  onlyFile: "Only {path}",
  rolled: "The branch is back at {version}",
  undone: "Undone",
  undoLate: "Somebody saved since. The history shows what there is to go back to.",
  failed: "Going back to before {what} did not work. {why}",
  movedOn: "Somebody saved in the meantime, so nothing was done. This is what would change now.",
};
