// `npm run test:clouds`: what the kind bedrock sends and reads, judged by botocore, AWS's own library for Python. It
// verifies signatures as AWS does, from the bytes of the request; compares paths with its own; makes and reads streams;
// and checks the bodies of Converse against AWS's model of the service. Prints one line with the counts. Where Python or
// its packages cannot be had it says so, which is a failure under CI.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeBatches } from './judge-batches.ts';
import { judgeBodies } from './judge-bodies.ts';
import { judgeFrames } from './judge-frames.ts';
import { judgeSignatures } from './judge-signatures.ts';
import { type Judge, openJudge } from './open-judge.ts';

export type Check = (what: string, isRight: boolean) => void;

const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);
const faults: string[] = [];
let passed = 0;
const check: Check = (what, isRight) => {
  if (isRight) passed++;
  else faults.push(what);
};

const directory = mkdtempSync(join(tmpdir(), 'clouds-'));
try {
  const judge = await openJudge(directory);
  if (judge === null) {
    console.log(`${'!'.repeat(20)} SKIPPED: for want of Python 3 with venv, or of its packages ${'!'.repeat(20)}`);
    process.exitCode = isCi ? 1 : 0;
  } else await run(judge);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function run(judge: Judge): Promise<void> {
  try {
    await judgeSignatures(judge, check);
    await judgeFrames(judge, check);
    await judgeBodies(judge, check);
    await judgeBatches(judge, check);
  } finally {
    await judge[Symbol.asyncDispose]();
  }
  for (const fault of faults) console.log(`wrong: ${fault}`);
  console.log(`\n${passed} passed, ${faults.length} failed`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
