// The points at which the service or its database is killed: where each is watched, and how far into a load it may come.
// crash-points.ts and postgres-points.ts are what fires them inside the service.

export interface CrashPoint {
  label: string;
  /**
   * Who kills: the process itself (`service`), the upstream that has got a request (`upstream`), the process that
   * starts after one that was killed at any moment (`recovery`), or nobody but the time (`time`).
   */
  by: 'service' | 'upstream' | 'recovery' | 'time';
  /** It fires at one of the first so many passings, drawn by the seed. */
  passingsMax: number;
  /** It is the database that is killed, and started again, while the service goes on. */
  ofDatabase?: true;
}

/** What the service keeps its rows in. */
export const storeNames = ['sqlite', 'postgres'] as const;

export type StoreName = (typeof storeNames)[number];

/** How old a stream is, at least, that is killed at `late-stream`: well older than what may be lost of it. */
export const LATE_STREAM_MS = 4_000;

const MESSAGES = 120;
const BATCHES = 80;

/** In the order of a message's life. */
const everywhere: readonly CrashPoint[] = [
  { label: 'before-hold', by: 'service', passingsMax: MESSAGES },
  { label: 'hold-before-commit', by: 'service', passingsMax: BATCHES },
  { label: 'hold-after-commit', by: 'service', passingsMax: BATCHES },
  { label: 'after-hold', by: 'service', passingsMax: MESSAGES },
  { label: 'before-dispatch', by: 'service', passingsMax: MESSAGES },
  { label: 'after-dispatch', by: 'upstream', passingsMax: MESSAGES },
  { label: 'before-first-byte', by: 'service', passingsMax: MESSAGES },
  { label: 'after-first-byte', by: 'service', passingsMax: MESSAGES },
  { label: 'mid-stream', by: 'service', passingsMax: 1_500 },
  { label: 'late-stream', by: 'service', passingsMax: 100 },
  { label: 'before-extension', by: 'service', passingsMax: 24 },
  { label: 'extension-before-commit', by: 'service', passingsMax: 16 },
  { label: 'extension-after-commit', by: 'service', passingsMax: 16 },
  { label: 'after-extension', by: 'service', passingsMax: 24 },
  { label: 'before-settlement', by: 'service', passingsMax: MESSAGES },
  { label: 'settlement-before-commit', by: 'service', passingsMax: BATCHES },
  { label: 'settlement-after-commit', by: 'service', passingsMax: BATCHES },
  { label: 'after-settlement', by: 'service', passingsMax: MESSAGES },
  { label: 'after-last-event', by: 'service', passingsMax: MESSAGES },
  { label: 'credit-before-commit', by: 'service', passingsMax: 30 },
  { label: 'credit-after-commit', by: 'service', passingsMax: 30 },
  { label: 'recovery-before-commit', by: 'recovery', passingsMax: 1 },
  { label: 'recovery-after-commit', by: 'recovery', passingsMax: 1 },
];

/** Where the commit has been asked for and not answered; and where it is the database that dies, at any batch. */
const onPostgres: readonly CrashPoint[] = [
  { label: 'hold-commit-asked', by: 'service', passingsMax: BATCHES },
  { label: 'extension-commit-asked', by: 'service', passingsMax: 16 },
  { label: 'settlement-commit-asked', by: 'service', passingsMax: BATCHES },
  { label: 'credit-commit-asked', by: 'service', passingsMax: 30 },
  { label: 'database-before-commit', by: 'service', passingsMax: BATCHES, ofDatabase: true },
  { label: 'database-commit-asked', by: 'service', passingsMax: BATCHES, ofDatabase: true },
  { label: 'database-after-commit', by: 'service', passingsMax: BATCHES, ofDatabase: true },
  { label: 'database-at-any-moment', by: 'time', passingsMax: 1, ofDatabase: true },
];

export const crashPoints: Readonly<Record<StoreName, readonly CrashPoint[]>> = {
  sqlite: everywhere,
  postgres: [...everywhere, ...onPostgres],
};
