// Words of the sheet that adds files.
export const upload = {
  uploadTitle: { one: "Add {n} file", other: "Add {n} files" },
  uploadLead: "All of it becomes one save, with one snapshot to go back to.",
  uploadSaves: {
    one: "It becomes one save.",
    other: "It is too much for one save: it becomes {n}, one after the other.",
  },
  uploadFolder: "Under the folder",
  uploadFolderTop: "the branch itself",
  uploadNew: "{n} new",
  uploadReplaced: "{n} replaced",
  uploadIsNew: "new",
  uploadReplaces: "replaces",
  uploadMore: { one: "and {n} more", other: "and {n} more" },
  uploadLeftOut: {
    one: "{n} left out: .git, .DS_Store and the like",
    other: "{n} left out: .git, .DS_Store and the like",
  },
  uploadDo: { one: "Save {n} file", other: "Save {n} files" },
  uploadDone: { one: "Saved {n} file", other: "Saved {n} files" },
  uploadPart: "{n} of {of} saves are made.",
  uploadRest: { one: "{n} file is not saved.", other: "{n} files are not saved." },
  uploadSent: "{sent} of {total} sent",
  uploadSentAll: "All {total} sent, waiting for the answer",
  uploadStill:
    "Nothing has gone out for some seconds: the network does not pass it on. It goes on by itself once it can; “Cancel” stops it.",
  uploadNoAnswer:
    "All of it was sent, and there is no answer yet. You can wait; “Cancel” stops waiting, and the history then shows whether it was saved.",
  uploadStopped: "Stopped.",
  uploadBroken: "The connection broke off.",
  uploadNothing: "Nothing was saved.",
  uploadMaybe: "The last save had been sent in full: the history shows whether it was made.",
  uploadFailed: "The files could not be added to {branch}. {why}",
  uploadMoved: "Somebody saved to this branch meanwhile. Nothing was overwritten: look at the list again.",
  uploadUndone: "The files are as they were before",
  uploadUndoLate: "Somebody saved since. The history shows what there is to go back to.",
};
