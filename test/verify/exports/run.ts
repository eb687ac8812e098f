// `npm run test:exports`: files of exports, judged by programs of others. DuckDB reads Parquet and CSV and adds them up, the
// validator of FOCUS checks the columns, and moto, a server that speaks S3 and verifies signatures, takes objects whole and in
// parts. Where Python or its packages cannot be had it says so, which is a failure under CI.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeFiles } from './judge-files.ts';
import { judgeSending } from './judge-sending.ts';
import { openJudge } from './open-judge.ts';

const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);
const faults: string[] = [];
let passed = 0;

/** Reports what differs. */
export type Check = (what: string, found: unknown, expected: unknown) => void;

const check: Check = (what, found, expected) => {
  if (Bun.deepEquals(found, expected)) passed++;
  else faults.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
};

const directory = mkdtempSync(join(tmpdir(), 'exports-'));
try {
  await using judge = await openJudge(directory);
  if (judge === null) {
    console.log(`${'!'.repeat(20)} SKIPPED: for want of Python 3 with venv, or of its packages ${'!'.repeat(20)}`);
    process.exitCode = isCi ? 1 : 0;
  } else {
    await judgeFiles(judge, directory, check);
    await judgeSending(judge, directory, check);
    for (const fault of faults) console.log(`wrong: ${fault}`);
    console.log(`\n${passed} passed, ${faults.length} failed`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
