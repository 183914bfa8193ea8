// Words of the accounts.
export const accounts = {
  lead: "Each person has an account of their own, so that the history says who did what.",
  onlyYou: "Nobody but you has an account yet. Make one for each person who is to work here.",
  onlyRoot: "Accounts are for the role ROOT",
  onlyRootHint: "Somebody who has it makes accounts, gives roles and sets passwords.",
  roles: "Roles",
  noRole: "no role",
  made: "Made",
  you: "you",
  disabled: "disabled",
  about: "More about {name}",

  editRoles: "Roles…",
  rename: "Rename…",
  newPassword: "New password…",
  disable: "Disable…",
  enable: "Enable",
  remove: "Remove…",
  ownHint: "Another with ROOT can disable or remove you.",

  newLead: "Letters, digits, “.”, “_”, “-” and “@”. A password is made up here, and shown once.",
  role: "Role",
  group: "Group or project",
  groupHint: "As acme, acme/shop or acme/shop.erp",

  noRoleOpens: "Their own projects, which everybody may make. More roles can be given at any time.",
  userOpens: "Their own projects. Everybody has that, also without a role.",
  groupOpens: "All projects of this name or below it, whoever owns them: to read, save, go back and delete.",
  publicOpens: "Projects below public/: to save and delete. Everybody reads them.",
  readonlyOpens: "All projects of everybody, and the record of who did what: to read, and nothing else.",
  rootOpens: "Everything: all projects, all tokens, accounts, and this service.",

  rolesTitle: "Roles of {name}",
  rolesLead: "A change counts from the next thing that {name} does.",
  rolesNone: "No role: {name} has nothing but projects of their own.",
  give: "Give a role",
  giveIt: "Give",
  take: "Take {role} away",
  takeOwnTitle: "Take ROOT from yourself?",
  takeOwnLead:
    "At once you lose the accounts, the service, and every project that is not your own. You cannot give it back to yourself: another with ROOT has to.",
  takeOwnDo: "Take it from me",

  renameTitle: "Another name for {name}",
  renameLead: "Projects, tokens and sessions stay. What was done before stays under the old name.",
  renameDo: "Rename",
  renamed: "{name} is now called {to}",

  passwordTitle: "A new password for {name}?",
  passwordLead:
    "The present one counts no more, and whoever is logged in as {name} is logged out. The new one is made up here, and shown once.",
  passwordDo: "Make a new password",
  secretLead:
    "This is the only time the password is shown. Hand it over by a way that nobody else reads; {name} can change it in the menu above.",

  disableTitle: "Disable {name}?",
  disableLead:
    "{name} is logged out and cannot log in, and their tokens open nothing, so clients that use them are refused. Nothing is deleted: enabling brings all of it back.",
  disableDo: "Disable",
  isDisabled: "{name} is disabled",
  isEnabled: "{name} can log in again",

  removeTitle: "Remove {name}?",
  removeLead: "This cannot be taken back. What {name} did stays in the history.",
  removeDo: "Remove",
  removed: "{name} is removed",
  goesTokens: {
    one: "{n} token is revoked: clients that use it are refused.",
    other: "{n} tokens are revoked: clients that use them are refused.",
  },
  goesSessions: { one: "{n} session ends.", other: "{n} sessions end." },
  goesNothing: "The account has no tokens, and nobody is logged in with it.",
  inTheWay: {
    one: "The account owns {n} project. Delete it first, or give it to another account (“owner” of the project, by the Admin API):",
    other:
      "The account owns {n} projects. Delete them first, or give them to another account (“owner” of a project, by the Admin API):",
  },
  moreProjects: { one: "and {n} more", other: "and {n} more" },

  lastRoot: "{name} is the last account with ROOT that can log in. Give the role to another first.",
  ownsProjects: {
    one: "{name} owns {n} project ({first}). Delete it first, or give it to another account.",
    other:
      "{name} owns {n} projects ({first} among them). Delete them first, or give them to another account.",
  },
  ownsDeleted: {
    one: "{name} owns {n} deleted project ({first}) that can still be restored. It has to be forgotten, or restored and given to another account, first.",
    other:
      "{name} owns {n} deleted projects ({first} among them) that can still be restored. They have to be forgotten, or restored and given to another account, first.",
  },
  taken: "There is an account of this name already.",
  badName: "A name has 1 to 64 letters, digits, “.”, “_”, “-” and “@”, and begins with a letter or digit.",
  badRole: "This is no name of a project, no beginning of one up to a “/”, and no id of a project.",
  gone: "The account is not there any more: somebody removed it or gave it another name.",
  roleGone: "The account did not have this role any more.",
};
