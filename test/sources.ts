// Reads the project's TypeScript as syntax trees, and its other files by name, for test/tidy.test.ts.
// The trees come from the pinned TypeScript's own parser, whose interface is still called unstable. It parses without the types of
// packages.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/async';
import { rootDirectory } from './check.ts';

export interface Source {
  /** From the project's root, with forward slashes: "src/base/ids.ts". */
  path: string;
  text: string;
  tree: SourceFile;
}

let sources: Promise<Source[]> | null = null;

/** Every TypeScript file of src, console, bin, test and bench; parsed once in a process. */
export function readSources(): Promise<Source[]> {
  sources ??= parseSources();
  return sources;
}

async function parseSources(): Promise<Source[]> {
  const api = new API({ cwd: rootDirectory });
  try {
    const configuration = join(rootDirectory, 'test/parsed-sources.json');
    const snapshot = await api.updateSnapshot({ openProjects: [configuration] });
    const program = snapshot.getProject(configuration)?.program;
    if (program === undefined) throw new Error(`TypeScript cannot open ${configuration}`);
    const sources: Source[] = [];
    for (const name of await program.getSourceFileNames()) {
      const path = name.startsWith(`${rootDirectory}/`) ? name.slice(rootDirectory.length + 1) : name;
      if (!/^(?:src|console|bin|test|bench)\/.*\.tsx?$/.test(path)) continue;
      const tree = await program.getSourceFile(name);
      if (tree !== undefined) sources.push({ path, text: tree.text, tree });
    }
    return sources.sort((one, other) => (one.path < other.path ? -1 : 1));
  } finally {
    await api.close();
  }
}

/** Calls `visit` for a node and everything below it. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  node.forEachChild((child) => {
    walk(child, visit);
  });
}

/** Where `check` names a fault, as "src/base/ids.ts:12 fault". */
export function faultsOf(among: readonly Source[], check: (node: Node, source: Source) => string | null): string[] {
  const faults: string[] = [];
  for (const source of among) {
    walk(source.tree, (node) => {
      const fault = check(node, source);
      if (fault !== null) faults.push(`${source.path}:${lineOf(source, node)} ${fault}`);
    });
  }
  return faults;
}

export function textOf(node: Node, source: Source): string {
  return node.getText(source.tree);
}

/** The number of the line, from 1, on which a node begins. */
export function lineOf(source: Source, node: Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;
}

/** How many lines a node takes, its leading comments not counted. */
export function lineCountOf(source: Source, node: Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(source, node);
}

/** Files that belong to the project: what git tracks or would track; without git, what lies there. */
export function projectFiles(): string[] {
  const listing = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: rootDirectory,
    stderr: 'ignore',
  });
  const names = listing.success
    ? listing.stdout.toString().split('\0')
    : readdirSync(rootDirectory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(rootDirectory.length + 1));
  return names.filter((name) => name !== '' && !/^(?:data|\.git)\/|(?:^|\/)(?:node_modules|\.venv)\//.test(name));
}

/** A file's text, or null if it does not exist or is not text. */
export function readText(path: string): string | null {
  try {
    const bytes = readFileSync(join(rootDirectory, path));
    return bytes.includes(0) ? null : bytes.toString('utf8');
  } catch {
    return null; // Deleted, but git's index still has it.
  }
}
