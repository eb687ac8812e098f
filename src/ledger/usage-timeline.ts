// Usage over time, in buckets of one length. Days are added up from the daily totals, what is shorter from the records
// themselves: of those a bounded number, the newest, and it is said from when on they are counted.

export const timelineSteps = ['minute', 'five_minutes', 'hour', 'day'] as const;
export type TimelineStep = (typeof timelineSteps)[number];
