// Words of what is done to files and folders: they are deleted, and get other paths.
export const entry = {
  deleteFileTitle: "Delete “{name}”?",
  deleteFolderTitle: "Delete the folder “{name}”?",
  deleteLead: "Clients no longer get it. The history keeps it, so it can be brought back.",
  deleteIt: "Delete",
  deleteFiles: { one: "Delete {n} file", other: "Delete {n} files" },
  moreFiles: { one: "more than {n} file", other: "more than {n} files" },
  typed: "What you typed in it and did not save goes, too, and does not come back.",
  typedIn: {
    one: "You typed in {n} of its files and did not save: that goes, too, and does not come back.",
    other: "You typed in {n} of its files and did not save: that goes, too, and does not come back.",
  },
  isDeleted: "Deleted {path}",
  isBack: "{path} is back",
  fileLate:
    "Somebody saved this file meanwhile, so it was not deleted. Close this and look at what they saved; you can still delete it then.",
  folderLate:
    "Somebody saved in this branch meanwhile, so nothing was deleted. Above is what would go now: look, and press again.",
  undoLate: "Somebody saved since. The history shows what there is to go back to.",

  moveFileTitle: "Rename or move the file",
  moveFolderTitle: "Rename or move the folder",
  moveLead: "Clients get it by its new path alone. Folders are made with it.",
  typedGoes: "What you typed and did not save goes along.",
  renameIt: "Rename",
  moveIt: "Move",
  isMoved: "It is {path} now",
  movedBack: "It is {path} again",
  takenMeanwhile: "Somebody has put something at this path meanwhile.",
  belowFile: "“{path}” is a file: nothing can be below it.",
  goneMeanwhile: "It is not there any more: somebody deleted or moved it.",
  tooMuch: "The folder is too large to be moved to a longer path at once. Move the folders in it one by one.",
  tooLong: "A path below it would become too long.",
  fileMoveLate:
    "Somebody saved this file meanwhile, so it was not moved. Close this and look at what they saved; you can still move it then.",
  folderMoveLate:
    "Somebody saved in this branch meanwhile, so nothing was moved. Look at what there is now, and press again.",
};
