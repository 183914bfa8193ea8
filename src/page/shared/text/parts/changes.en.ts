// Words of the list of what differs.
export const changes = {
  sumAdded: "{n} added",
  sumChanged: "{n} changed",
  sumRemoved: "{n} removed",
  sumBack: "{n} to come back",
  sumChangedBack: "{n} to change back",
  sumAway: "{n} to go away",
  filter: "Filter the changed files",
};
