// Lists the files and functions of src/ that run for every streamed POST /v1/messages after the first, in a service over
// SQLite with a provider of the kind anthropic. `--functions` lists the functions, too.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bodyOf, post, startService, startUpstream } from './processes.ts';

const MESSAGES = 6; // jobs of the service, which run beside some of them, are left out
const REST_MS = 50; // for what the service does after the end of a message, and for its threads to write

const directory = mkdtempSync(join(tmpdir(), 'turnpike-path-'));
const report = join(directory, 'report');
try {
  const functions = await functionsOfMessage();
  const files = Map.groupBy(functions, (name) => name.split(':')[0] as string);
  for (const [file, inFile] of [...files].sort(([one], [other]) => one.localeCompare(other))) {
    console.log(`${String(inFile.length).padStart(4)} ${file}`);
    if (process.argv.includes('--functions')) for (const name of inFile) console.log(`     ${describe(name)}`);
  }
  console.log(`\n${files.size} files, ${functions.length} functions`);
} finally {
  rmSync(directory, { recursive: true });
}

async function functionsOfMessage(): Promise<string[]> {
  await using upstream = await startUpstream();
  await using service = await startService(upstream, {
    BUN_OPTIONS: `--preload=${join(import.meta.dir, 'path-probe.ts')}`,
    PATH_REPORT: report,
  });
  const key = await service.makeKey();
  const body = bodyOf(1_000, { stream: true });
  const every: Set<string>[] = [];
  for (let messages = 0; messages < MESSAGES; messages++) {
    await takeNotes(service.pid);
    await (await post(service, key, body)).text();
    const noted = await takeNotes(service.pid);
    if (messages > 0) every.push(noted);
  }
  return [...every.reduce((common, noted) => common.intersection(noted))].sort();
}

/** The functions that ran since the last call. */
async function takeNotes(pid: number): Promise<Set<string>> {
  await Bun.sleep(REST_MS);
  writeFileSync(report, '');
  process.kill(pid, 'SIGUSR2');
  await Bun.sleep(REST_MS);
  return new Set(readFileSync(report, 'utf8').trim().split('\n'));
}

/** The line of the function, and how it begins. */
function describe(name: string): string {
  const [file, line, start] = name.split(':');
  const text = readFileSync(join(import.meta.dir, '..', file as string), 'utf8').slice(Number(start));
  return `${line}: ${text.split('\n')[0]?.trim()}`;
}
