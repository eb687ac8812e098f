// How entries are looked for that are not what a message took as it ended. The same for every database.

/** What may come of a message after its end. */
export const givenBackKinds = ['correction', 'refund'] as const;

/** As the index of these has it, word for word: it is found by that. */
export const OF_MESSAGE_LATER = "kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund')";

/** What an entry did to the balance of the account that it is about. */
export const CHANGE = 'CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END';
