// Words of the tokens.
export const tokens = {};
