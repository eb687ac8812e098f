// The scripts of the threads. They are next to this file, and in the executable (bin/build.ts) next to the bundle of src/:
// a relative path works in both only from this file.

/** Entry points in src/. */
export type WorkerName = 'ledger-worker' | 'report-worker' | 'backup-worker' | 'sign-in-worker' | 'tokenizer-worker';

export function workerScript(name: WorkerName): URL {
  return new URL(`./${name}.ts`, import.meta.url);
}
