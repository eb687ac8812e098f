// The door of threads: the places of their scripts. They are next to this file, and in the executable (bin/build.ts) next to the bundle of src/:
// a relative path works in both only from this file.

/** Entry points in src/threads/. */
export const workerNames = [
  'ledger-worker',
  'report-worker',
  'backup-worker',
  'sign-in-worker',
  'tokenizer-worker',
] as const;

export type WorkerName = (typeof workerNames)[number];

export function workerScript(name: WorkerName): URL {
  return new URL(`./${name}.ts`, import.meta.url);
}
