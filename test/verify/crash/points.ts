// Points at which the service or its database is killed, and how many passes a load may contain. crash-points.ts and
// postgres-points.ts trigger them inside the service.

export interface CrashPoint {
  label: string;
  /**
   * Trigger of the kill: the process itself (`service`), the upstream on a request (`upstream`), the restart after
   * a kill (`recovery`), or a timer (`time`).
   */
  by: 'service' | 'upstream' | 'recovery' | 'time';
  /** The seed picks one of this many first passes. */
  passingsMax: number;
  /** Kills and restarts the database while the service continues. */
  ofDatabase?: true;
}

/** Store of the service. */
export const storeNames = ['sqlite', 'postgres'] as const;

export type StoreName = (typeof storeNames)[number];

/** Tells the service that the load begins which is to reach a point of the database. */
export const LOAD_BEGINS = 'SIGUSR2';

/** Minimum age of a stream at `late-stream`: well above the part that may be lost. */
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

/** Points after a commit was requested and before it is answered; for a killed database, any batch. */
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
