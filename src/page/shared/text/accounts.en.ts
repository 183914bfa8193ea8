// Words of the accounts.
export const accounts = {};
