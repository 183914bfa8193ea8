// Words of the list of keys.
export const keys = {
  find: "Find a file or a command",
  save: "Save",
  search: "Search in the file",
  wrap: "Wrap lines, or not",
  leave: "One after the other: leave the editor",
  older: "Older and newer change",
  move: "Rename or move what the tree points at",
  delete: "Delete what the tree points at",
  submit: "The button of a sheet",
  close: "Close",
  help: "These keys",
};
