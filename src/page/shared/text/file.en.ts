// Words of the open file, the editor and the upload.
export const file = {
  save: "Save",
  saved: "Saved {path}",
};
