// Words of the history.
export const history = {};
