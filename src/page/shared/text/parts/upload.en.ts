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
  uploadFailed: "The files could not be added to {branch}. {why}",
  uploadMoved: "Somebody saved to this branch meanwhile. Nothing was overwritten: look at the list again.",
  uploadUndone: "The files are as they were before",
  uploadUndoLate: "Somebody saved since. The history shows what there is to go back to.",
};
