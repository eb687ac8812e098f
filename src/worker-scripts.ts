// Where the scripts of the threads are: beside this file, and within one executable (bin/build.ts) beside the one
// file that all of src/ has become. Only from here is the way to them the same in both.

/** Roots of their own in src/. */
export type WorkerName = 'ledger-worker' | 'report-worker' | 'backup-worker' | 'sign-in-worker';

export function workerScript(name: WorkerName): URL {
  return new URL(`./${name}.ts`, import.meta.url);
}
