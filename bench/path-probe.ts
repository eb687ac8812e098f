// Preloaded into the service by path.ts: notes each function of src/ that runs between SIGUSR2 and the next, in every
// thread, and appends their names to the file PATH_REPORT.

import { appendFileSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { parse } from '@babel/parser';

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [member: string]: unknown;
}

const root = join(import.meta.dir, '..');
const report = process.env['PATH_REPORT'] as string;
const run = new Set<string>();
const noted = globalThis as unknown as { noteFunction(name: string): void };
noted.noteFunction = (name) => run.add(name);

Bun.plugin({
  name: 'path',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
      contents: withNotes(readFileSync(path, 'utf8'), relative(root, path)),
      loader: 'ts',
    }));
  },
});

const signals = new BroadcastChannel('path');
signals.onmessage = takeNotes;
(signals as unknown as { unref(): void }).unref(); // missing in the types of Bun
if (isMainThread) {
  startThreadsWithProbe();
  process.on('SIGUSR2', () => {
    signals.postMessage('take');
    takeNotes();
  });
}

function takeNotes(): void {
  appendFileSync(report, [...run].map((name) => `${name}\n`).join(''));
  run.clear();
}

function startThreadsWithProbe(): void {
  const Plain = globalThis.Worker;
  globalThis.Worker = class extends Plain {
    constructor(script: string | URL, options: WorkerOptions = {}) {
      super(script, { ...options, preload: [import.meta.path] });
    }
  };
}

/** The same source, in which each function first notes that it runs. */
function withNotes(text: string, file: string): string {
  const tree = parse(text, {
    sourceType: 'module',
    plugins: ['typescript', 'explicitResourceManagement'],
    createParenthesizedExpressions: true,
  });
  const puts: [at: number, text: string][] = [];
  const walk = (node: SyntaxNode): void => {
    const { body } = node as unknown as { body: unknown };
    if (/Function|^(?:Class|Object)(?:Private)?Method$/.test(node.type) && isNode(body)) {
      const note = `noteFunction(${JSON.stringify(`${file}:${node.loc.start.line}:${node.start}`)})`;
      if (body.type === 'BlockStatement') puts.push([body.start + 1, `${note};`]);
      else puts.push([body.start, `(${note}, `], [body.end, ')']);
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) walk(child);
  };
  walk(tree.program as unknown as SyntaxNode);
  let put = text;
  for (const [at, added] of puts.sort(([one], [other]) => other - one)) put = put.slice(0, at) + added + put.slice(at);
  return put;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}
