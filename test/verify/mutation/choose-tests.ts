// The few quick tests that should notice a change of a file: those named after it, then those that import it over the fewest files
// and share its words. No list is kept by hand.

import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Glob } from 'bun';
import { workerNames } from '../../../src/threads/threads.ts';
import { rootDirectory } from '../../check.ts';
import { testFiles } from '../../selection.ts';

/** More files hardly notice more mutants, and each costs a survivor a second or two. */
const FILES_MAX = 9;
/** Threads are started by name, not imported. */
const STARTS_THREADS = 'src/threads/threads.ts';
/** These run for every file of the ledger, so that none of its decisions survives. */
const LEDGER_TESTS = 'test/money/ledger/';
const WORD = /[A-Z]?[a-z]{3,}/g;

interface Graph {
  importersOf: ReadonlyMap<string, readonly string[]>;
  /** The words of each file, also those within names. */
  wordsOf: ReadonlyMap<string, ReadonlySet<string>>;
  quick: ReadonlySet<string>;
  /** Falls with the number of quick tests that use the word. */
  weightOf: ReadonlyMap<string, number>;
}

let graph: Graph | null = null;

/** Test files in the order in which to run them; none if no quick test reaches the file. */
export function chooseTests(file: string): string[] {
  graph ??= readGraph();
  const { quick } = graph;
  const own = basename(file, '.ts');
  const reached = [...distances(graph, file)]
    .filter(([path]) => quick.has(path))
    .map(([path, distance]) => ({
      path,
      isOwn: basename(path, '.test.ts') === own,
      nearness: likeness(graph as Graph, file, path) / Math.sqrt(distance),
    }))
    .sort((one, other) => Number(other.isOwn) - Number(one.isOwn) || other.nearness - one.nearness);
  const chosen = reached.slice(0, FILES_MAX).map(({ path }) => path);
  const ofLedger = file.startsWith('src/ledger/') ? [...quick].filter((path) => path.startsWith(LEDGER_TESTS)) : [];
  return [...new Set([...chosen, ...ofLedger])];
}

/** The files that import this one, directly or through others, each with the length of the shortest path. */
function distances({ importersOf }: Graph, file: string): Map<string, number> {
  const found = new Map([[file, 0]]);
  for (const [path, distance] of found)
    for (const importer of importersOf.get(path) ?? []) if (!found.has(importer)) found.set(importer, distance + 1);
  return found;
}

/** How many words of a test are also in the file. Words that few tests use count most; long tests have no advantage. */
function likeness({ wordsOf, weightOf }: Graph, file: string, path: string): number {
  const words = wordsOf.get(file) as ReadonlySet<string>;
  const weights = [...(wordsOf.get(path) as ReadonlySet<string>)].map((word) => ({
    word,
    weight: weightOf.get(word) ?? 0,
  }));
  const total = weights.reduce((sum, { weight }) => sum + weight ** 2, 0);
  return weights.reduce((sum, { word, weight }) => sum + (words.has(word) ? weight ** 2 : 0), 0) / Math.sqrt(total);
}

function readGraph(): Graph {
  const transpilers = { ts: new Bun.Transpiler({ loader: 'ts' }), tsx: new Bun.Transpiler({ loader: 'tsx' }) };
  const importersOf = new Map<string, string[]>();
  const wordsOf = new Map<string, Set<string>>();
  for (const file of new Glob('{src,test}/**/*.{ts,tsx}').scanSync(rootDirectory)) {
    if (file.includes('node_modules')) continue;
    const text = readFileSync(join(rootDirectory, file), 'utf8');
    wordsOf.set(file, new Set(text.match(WORD)?.map((word) => word.toLowerCase())));
    const imported = transpilers[file.endsWith('x') ? 'tsx' : 'ts'].scanImports(text).map(({ path }) => path);
    const names = imported.filter((path) => path.startsWith('.')).map((path) => join(dirname(file), path));
    if (file === STARTS_THREADS) names.push(...workerNames.map((name) => `src/threads/${name}.ts`));
    for (const name of names) importersOf.set(name, [...(importersOf.get(name) ?? []), file]);
  }
  const quick = new Set(testFiles('test'));
  const users = new Map<string, number>();
  for (const test of quick) for (const word of wordsOf.get(test) ?? []) users.set(word, (users.get(word) ?? 0) + 1);
  const weightOf = new Map([...users].map(([word, count]) => [word, Math.log(quick.size / count)]));
  return { importersOf, wordsOf, quick, weightOf };
}
