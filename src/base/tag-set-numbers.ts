// Numbers of sets of tags with a meaning: in usage records, and in the daily totals.

/** Messages without tags. */
export const NO_TAG_SET = 0;
/** Messages beyond the sets that an account may use in a month. */
export const OTHER_TAG_SET = 1;
/** The value of their tags. */
export const OTHER_VALUE = 'other';
