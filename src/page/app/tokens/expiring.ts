/** A token that expires within so many days is told of: the service counts these in `tokens_expiring`. */
export const EXPIRING_DAYS = 30;
