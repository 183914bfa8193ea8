// Words of what is done to branches and projects as such, and of what was deleted.
export const named = {
  rename: "Rename",
  renameBranchTitle: "Rename the branch",
  renameBranchLead:
    "Its history stays. Clients that ask for “{name}” get 404 until their settings say the new name.",
  isDefault:
    "It is the default branch. That is the one called master, else main, else the first by name: after this it may be another.",
  branchIs: "The branch is {name} now",
  branchIsAgain: "The branch is {name} again",
  deleteBranchTitle: "Delete the branch “{name}”?",
  deleteLead: "Clients that ask for it get 404 from now on.",
  deleteIt: "Delete",
  wasDefault: "It is the default branch: another one takes its place.",
  typedStays: {
    one: "What you typed in {n} file and did not save stays in this browser.",
    other: "What you typed in {n} files and did not save stays in this browser.",
  },
  branchLate:
    "Somebody saved in this branch meanwhile, so it was not deleted. To delete it with what they saved, press again.",

  renameProjectTitle: "Rename the project",
  renameProjectLead:
    "Clients must be told its new id, the name and the type: by the old one, “{name}”, they get 404.",
  tokensGoAlong: "Branches, history and tokens stay with it.",
  rolesByName: "Roles open projects by their names, so others may come in, or be shut out.",
  projectIs: "The project is {name} now",
  projectIsAgain: "The project is {name} again",
  deleteProjectTitle: "Delete the project “{name}”?",
  branchCount: { one: "{n} branch", other: "{n} branches" },
  tokensStay: "Tokens that name it stay, and read it again once it is restored.",

  restorable: {
    one: "It can be restored with its history for {n} day:",
    other: "It can be restored with its history for {n} days:",
  },
  ownerRestores: {
    one: "{owner}, who owns the project, can restore it with its history for {n} day.",
    other: "{owner}, who owns the project, can restore it with its history for {n} days.",
  },
  isDeleted: "Deleted {name}",
  isRestored: "{name} is back",

  rulesLead:
    "What is saved in {name} must pass them; a refused save tells the number of the rule. Files that broke one before may stay.",
  noRules: "This project has no rules: files are saved as they are.",
  setRules: "Rules are set on the command line: siteconf project rules.",
  mustBeJson: "must be JSON",
  mustBeXml: "must be well-formed XML",
  mustBeYaml: "must be YAML",
  mustKeepSchema: "must keep to the schema",

  branchTaken: "There is a branch of this name already.",
  projectTaken: "There is a project of this name already.",
  badBranch: "A branch’s name has no spaces, no “..”, and none of \\ ~ ^ : ? * [.",
  badProject:
    "Letters, digits, “_”, “-” and “.”; slashes make groups. The type is of small letters and digits.",
  notThatName: "Your role does not let you give this name.",
  notDeleted: "It is not there to be restored any more: somebody has restored it, or its time is over.",

  deletedLead: {
    one: "For {n} day a deleted branch or project can be brought back with its history.",
    other: "For {n} days a deleted branch or project can be brought back with its history.",
  },
  nothingDeleted: "Nothing to restore",
  nothingDeletedHint:
    "Branches and projects that are deleted wait here. Deleted files are in the history of their branch.",
  kind: "Kind",
  isBranch: "branch",
  isProject: "project",
  when: "Deleted",
  until: "Kept until",
  restore: "Restore",
  restoreNamed: "Restore {name}",
  open: "Open it",
  showMore: "Show more",
  restoreTitle: "Restore “{name}” by another name",
  restoreLead: "Its name is taken meanwhile. Its history comes back with it.",
  newId: "New id",
};
